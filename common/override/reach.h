/* SPDX-License-Identifier: MIT */
/* Which programs a preloaded library reaches. */
#pragma once

#include "base/problem.h"
#include "override/shared.h"

#include <sys/types.h>

/* Refuses a file that the library does not reach: a static program, one of another machine or of
 * another C library, a Go program, one that changes its user or capabilities. A script is judged by
 * its interpreter. 0, or -1 with a problem. */
int reach_check(const char *path, struct problem *problem);

/* Refuses a running process whose sends the library may not see: it has an io_uring, or a seccomp
 * filter of its own. 0, also where the process has ended; or -1 with a problem. */
int reach_check_process(pid_t pid, struct problem *problem);

/* The same of every process that the library has reached. */
void reach_check_all(const struct shared *shared, struct problem *problem);
