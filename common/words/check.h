/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_WORDS_CHECK_H
#define UNCORK_WORDS_CHECK_H

#include "plan/plan.h"

/* Checks that the words of a plan are compatible. 0, or -1 with a usage problem that names two
 * words that contradict each other. */
int plan_check(const struct plan *plan, struct problem *problem);

#endif
