/* SPDX-License-Identifier: MIT */
/* A temporary folder of a run. */
#pragma once

#include "base/problem.h"

#include <sys/types.h>

#define FOLDER_MAX 128

/* Makes TMPDIR/uncork-KIND-XXXXXX, which only `owner` may enter. Without TMPDIR it is in /tmp. 0,
 * or -1 with a failure; call folder_remove() in both cases. */
int folder_make(char folder[FOLDER_MAX], const char *kind, uid_t owner, struct problem *problem);

/* Removes the folder with its files and sets `folder` to "". No effect if it is "" already. */
void folder_remove(char folder[FOLDER_MAX]);
