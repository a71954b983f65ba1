/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_PLAN_REALTIME_H
#define UNCORK_PLAN_REALTIME_H

#include "base/problem.h"

/* The system does not permit this process the class that `word` (rr:2) names, with that priority: -1 with an
 * unsupported problem that says why, and the command that would allow it. */
int realtime_refused(const char *word, int priority, struct problem *problem);

#endif
