/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_PLACEMENT_REALTIME_H
#define UNCORK_PLACEMENT_REALTIME_H

#include "base/problem.h"

/* Describes why the system rejected a real-time class. `word` (rr:2) names the class. Returns -1
 * with an unsupported problem: the reason, and the command that would permit it. */
int realtime_refused(const char *word, int priority, struct problem *problem);

#endif
