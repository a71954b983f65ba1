/* SPDX-License-Identifier: MIT */
/* A file that appears complete or not at all: written under a temporary name beside it, then
 * renamed. */
#ifndef UNCORK_BASE_WHOLE_FILE_H
#define UNCORK_BASE_WHOLE_FILE_H

#include "base/problem.h"

#include <stdio.h>

struct whole_file {
    const char *path; /* owned by the caller while this is open */
    char *beside;
    FILE *file; /* stream for the contents */
};

/* Checks that a file can be created at `path`, and leaves nothing behind. Call it before the work
 * whose result goes into the file. 0, or -1 with a problem. */
int whole_file_check(const char *path, struct problem *problem);

/* 0, or -1 with a problem; then there is nothing to keep or drop. */
int whole_file_open(struct whole_file *file, const char *path, struct problem *problem);

/* Renames the temporary file to `path`. 0, or -1 with a problem; then the old file is unchanged. */
int whole_file_keep(struct whole_file *file, struct problem *problem);

/* Deletes the temporary file. */
void whole_file_drop(struct whole_file *file);

#endif
