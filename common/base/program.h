/* SPDX-License-Identifier: MIT */
/* Where programs are. */
#pragma once

#include <stddef.h>

/* Finds a program as execvp(3) does, in `folders` (as PATH) where its name has no slash. `path`
 * gets where it is. 0, -ENOENT, or -EACCES where it is found and not executable. */
int program_find(const char *name, const char *folders, char *path, size_t size);
