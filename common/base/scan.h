/* SPDX-License-Identifier: MIT */
/* Reads values from text files of the system, like those of /proc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Scans line by line, until a line matches all `count` values of `format`. False if none does. A
 * partial match may still change the first values: a caller that sets defaults uses `count` 1. */
bool scan_file(const char *path, int count, const char *format, ...) __attribute__((format(scanf, 3, 4)));

/* The end of a file as one line, "" if there is no file. `size` includes the final NUL. */
void scan_tail(const char *path, char *text, size_t size);
