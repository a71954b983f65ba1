/* SPDX-License-Identifier: MIT */
/* A temporary folder of a run. */
#pragma once

#include "base/problem.h"

#include <sys/types.h>

#define FOLDER_MAX 128

/* Makes TMPDIR/uncork-KIND-XXXXXX, or one in /tmp, for this owner alone. 0, or -1 with a failure;
 * call folder_remove() in both cases. */
int folder_make(char folder[FOLDER_MAX], const char *kind, uid_t owner, struct problem *problem);

/* Removes it with all that is in it; harmless where it is empty text. It is that afterwards. */
void folder_remove(char folder[FOLDER_MAX]);
