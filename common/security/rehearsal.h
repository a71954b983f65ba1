/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_SECURITY_REHEARSAL_H
#define UNCORK_SECURITY_REHEARSAL_H

#include "base/problem.h"
#include "plan/plan.h"

/* Whether the layer of this end can do what the plan asks of it: shake hands with itself over a pair of
 * sockets of that transport, by that cipher and with such a key, and carry bytes both ways. An effect,
 * because libraries differ by version, build and policy, and a kernel may say yes and do nothing. 0, or -1
 * with an unsupported problem. The answer is kept. */
int rehearsal_check(const struct plan *plan, enum end end, struct problem *problem);

#endif
