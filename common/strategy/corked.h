/* SPDX-License-Identifier: MIT */
/* Functions of the strategies that send each group under a cork. */
#ifndef UNCORK_STRATEGY_CORKED_H
#define UNCORK_STRATEGY_CORKED_H

#include "strategy/strategy.h"

/* state_size() of these strategies. */
size_t corked_state_size(size_t longest_group);

/* push() of these strategies. Sends each group by `send_group`, as strategy_push_groups() does. If
 * `corks` returns true for the group at the head, the cork of the connection's layer is on. */
int corked_push(struct connection *connection, bool (*corks)(const struct connection *connection),
                int (*send_group)(struct connection *connection));

#endif
