/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_LEGALITY_LEGALITY_H
#define UNCORK_LEGALITY_LEGALITY_H

#include "base/problem.h"
#include "plan/plan.h"

/* Whether `end` can do on this machine what the plan asks of it: what the connection gives against what its
 * strategy and its reading need, and the placement. 0, or -1 with an unsupported problem that says what is
 * missing, or with a failure where that could not be found out. */
int legality_check(const struct plan *plan, enum end end, bool remote, struct problem *problem);

/* The same for one strategy or reading on one transport, over the plain layer: for lists. */
int legality_of_strategy(const struct strategy *strategy, const struct transport *transport,
                         struct problem *problem);
int legality_of_reading(const struct reading *reading, const struct transport *transport,
                        struct problem *problem);

/* The same for one security layer, with the cipher and the handshake that a plan has by default. */
int legality_of_security(const struct security *security, const struct transport *transport,
                         struct problem *problem);

#endif
