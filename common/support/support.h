/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/problem.h"
#include "plan/plan.h"

/* Checks that `end` can run this plan on this machine: strategy and reading have the capabilities
 * that they need, and placement, options and limits are possible. `remote`: the other ends
 * are on other machines. 0, or -1 with an unsupported problem that names what is missing, or with a
 * failure if a probe failed. */
int support_check(const struct plan *plan, enum end end, bool remote, struct problem *problem);

/* The same for one strategy or reading on one transport without a filter, for lists. */
int support_of_strategy(const struct strategy *strategy, const struct transport *transport,
                        struct problem *problem);
int support_of_reading(const struct reading *reading, const struct transport *transport,
                       struct problem *problem);

/* The same for one filter, with the default cipher and the default handshake. */
int support_of_security(const struct security *security, const struct transport *transport,
                        struct problem *problem);
