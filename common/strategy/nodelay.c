/* SPDX-License-Identifier: MIT */
#include "strategy/strategy.h"

static int push(struct connection *connection)
{
    return strategy_push_plain(connection, 0);
}

const struct strategy strategy_nodelay = {
    .variant = {"nodelay", "a send() for each fragment, TCP_NODELAY"},
    .nodelay = true,
    .push = push,
};
