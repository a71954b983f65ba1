/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_LEGALITY_REHEARSAL_H
#define UNCORK_LEGALITY_REHEARSAL_H

#include "base/problem.h"
#include "plan/plan.h"

/* Checks that the layer of this end can do what the plan asks, by a trial over a pair of sockets of
 * that transport. Both ends of the trial are this layer: they complete a handshake with that cipher
 * and such a key, and exchange bytes both ways. A trial, because libraries differ by version, build
 * and policy, and a kernel may accept options without effect. 0, or -1 with an unsupported problem.
 * Answers are cached. */
int rehearsal_check(const struct plan *plan, enum end end, struct problem *problem);

#endif
