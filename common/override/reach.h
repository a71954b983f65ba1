/* SPDX-License-Identifier: MIT */
/* Which programs a preloaded library reaches. */
#pragma once

#include "base/problem.h"
#include "override/shared.h"

#include <sys/types.h>

/* Rejects a program that the library does not reach: a static one, one for another machine or
 * another C library, a Go program, one that changes its user or capabilities. Of a script, the
 * interpreter is checked. 0, or -1 with a problem. */
int reach_check(const char *path, struct problem *problem);

/* Rejects a running process whose sends the library may not see: it has an io_uring, or a seccomp
 * filter of its own. 0, or -1 with a problem. A process that has ended is not rejected. */
int reach_check_process(pid_t pid, struct problem *problem);

/* Calls reach_check_process() for every process that loaded the library. */
void reach_check_all(const struct shared *shared, struct problem *problem);
