/* SPDX-License-Identifier: MIT */
/* Text files of the system, files that appear as a whole, temporary folders. */
#pragma once

#include "base/problem.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Scans a file, like those of /proc, for a line that matches all `count` values of `format`. False
 * if none does. A partial match may change the first values: with defaults, `count` must be 1. */
bool scan_file(const char *path, int count, const char *format, ...) __attribute__((format(scanf, 3, 4)));

/* Closes a stream of open_memstream() and returns its text, which the caller frees. NULL without
 * memory: where `out` is NULL, or a write `failed`. */
char *text_close(FILE *out, char *const *text, bool failed);

/* The end of a file as one line, "" if there is no file. `size` includes the final NUL. */
void scan_tail(const char *path, char *text, size_t size);

/* Creates or replaces a file, completely or not at all: written as PATH.part, then renamed. `write`
 * writes the contents: 0, or -1 with a problem or errno. NULL: only checks that a file can be
 * created, before a long work. 0, or -1 with a problem; then an old file is unchanged. */
int atomic_file_write(const char *path, int (*write)(FILE *file, void *context, struct problem *problem),
                      void *context, struct problem *problem);

/* Makes TMPDIR/uncork-KIND-XXXXXX, which only `owner` may enter. Without TMPDIR it is in /tmp. 0,
 * or -1 with a failure; call folder_remove() in both cases. */
#define FOLDER_MAX 128
int folder_make(char folder[FOLDER_MAX], const char *kind, uid_t owner, struct problem *problem);

/* Removes the folder with its files and sets `folder` to "". No effect if it is "" already. */
void folder_remove(char folder[FOLDER_MAX]);
