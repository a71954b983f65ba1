/* SPDX-License-Identifier: MIT */
/* A file that is there whole or not at all: written beside its place, and put there when it is done. */
#ifndef UNCORK_BASE_WHOLE_FILE_H
#define UNCORK_BASE_WHOLE_FILE_H

#include "base/problem.h"

#include <stdio.h>

struct whole_file {
    const char *path; /* the caller's, as long as this is open */
    char *beside;
    FILE *file; /* to write to */
};

/* Whether a file can be written there, and leaves nothing behind: to be asked before the work whose result it
 * is to hold. 0, or -1 with a problem. */
int whole_file_check(const char *path, struct problem *problem);

/* 0, or -1 with a problem and nothing to keep or drop. */
int whole_file_open(struct whole_file *file, const char *path, struct problem *problem);

/* Puts what was written in its place. 0, or -1 with a problem, and what was there before is there still. */
int whole_file_keep(struct whole_file *file, struct problem *problem);

/* Forgets what was written. */
void whole_file_drop(struct whole_file *file);

#endif
