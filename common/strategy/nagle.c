/* SPDX-License-Identifier: MIT */
#include "strategy/strategy.h"

static int push(struct connection *connection)
{
    return strategy_push_plain(connection, 0);
}

const struct strategy strategy_nagle = {
    .variant = {"nagle", "a send() for each fragment, Nagle's algorithm on"},
    .needs = CAPABLE_NODELAY,
    .nodelay = false,
    .push = push,
};
