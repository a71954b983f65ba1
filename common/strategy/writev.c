/* SPDX-License-Identifier: MIT */
#include "strategy/strategy.h"

static int push(struct connection *connection)
{
    return strategy_push_groups(connection, strategy_send_vector);
}

const struct strategy strategy_writev = {
    .variant = {"writev", "one sendmsg() for the group"},
    .needs = CAPABLE_DESCRIPTOR,
    .nodelay = true,
    .push = push,
};
