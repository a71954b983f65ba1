/* SPDX-License-Identifier: MIT */
/* Finds programs in PATH. */
#pragma once

#include <stddef.h>

/* Finds a program as execvp(3) does: a name without a slash is searched for in `folders`, which has
 * the form of PATH; NULL: in PATH. Writes the result to `path`. 0, -ENOENT, or -EACCES if the file
 * is not executable. */
int program_find(const char *name, const char *folders, char *path, size_t size);
