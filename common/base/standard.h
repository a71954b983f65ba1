/* SPDX-License-Identifier: MIT */
/* The standard streams of a program, from its first line to its last. */
#pragma once

#include "base/problem.h"

#include <jansson.h>

/* Call it before all else. Opens /dev/null on each of the descriptors 0 to 2 that is closed: else
 * another file gets this number, messages go into that file, and libuv 1.44 aborts. The descriptor
 * is for the other direction: a read or a write still fails with EBADF, also in a program that this
 * one starts. */
void standard_open(void);

/* Prints `json` as one line; the flags are those of json_dumpf(). 0, or -1 with a failure if any
 * byte since the start of the program could not be written. */
int standard_print(const json_t *json, size_t flags, struct problem *problem);

/* Ends a program: closes standard output, because some files report a full disk only then, prints
 * the problem after the name of the program, and returns the exit status. */
int standard_end(const char *program, struct problem *problem);
