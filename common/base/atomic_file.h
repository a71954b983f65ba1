/* SPDX-License-Identifier: MIT */
/* A file that appears complete or not at all: written as PATH.part, then renamed. */
#pragma once

#include "base/problem.h"

#include <stdio.h>

/* Creates or replaces the file at `path`. `write` writes the contents: 0, or -1 with a problem or
 * errno. `write` NULL: only checks that a file can be created, and leaves nothing behind; call that
 * before a long work. 0, or -1 with a problem; then an old file is unchanged. */
int atomic_file_write(const char *path, int (*write)(FILE *file, void *context, struct problem *problem),
                      void *context, struct problem *problem);
