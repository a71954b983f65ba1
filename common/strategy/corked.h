/* SPDX-License-Identifier: MIT */
/* Groups that are held back while they are sent: what the strategies with a cork have in common. */
#ifndef UNCORK_STRATEGY_CORKED_H
#define UNCORK_STRATEGY_CORKED_H

#include "strategy/strategy.h"

/* state_size() of them. */
size_t corked_state_size(size_t longest_group);

/* push(): each group at the head by `send_group`, as in strategy_push_groups(), with the cork of the
 * connection's layer on if `corks` says so before it. */
int corked_push(struct connection *connection, bool (*corks)(const struct connection *connection),
                int (*send_group)(struct connection *connection));

#endif
