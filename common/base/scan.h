/* SPDX-License-Identifier: MIT */
/* Figures in text files of the system, as those of /proc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Scans line by line, until one gives all `count` values of `format`. False where none does; then
 * the first values may have changed, so `count` is 1 where the caller set a default. */
bool scan_file(const char *path, int count, const char *format, ...) __attribute__((format(scanf, 3, 4)));

/* The end of a file as one line, empty where there is none; `size` of the text, with its 0. */
void scan_tail(const char *path, char *text, size_t size);
