/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_PLAN_CHECK_H
#define UNCORK_PLAN_CHECK_H

#include "plan/plan.h"

/* Whether the words of a plan go together. 0, or -1 with a usage problem that names two which contradict each
 * other. */
int plan_check(const struct plan *plan, struct problem *problem);

#endif
