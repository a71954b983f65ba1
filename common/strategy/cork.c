/* SPDX-License-Identifier: MIT */
#include "strategy/corked.h"

static bool corks(const struct connection *connection)
{
    uint64_t limit = connection->strategy_parameter;

    return limit == PARAMETER_NONE || queue_group_bytes(&connection->queue) <= limit;
}

static int send_group(struct connection *connection)
{
    return strategy_send_group(connection, 0);
}

static int push(struct connection *connection)
{
    return corked_push(connection, corks, send_group);
}

const struct strategy strategy_cork = {
    .variant = {"cork", "the cork on, a send() for each fragment, the cork off"},
    .parameter = "corks only groups up to that size",
    .corks = true,
    .nodelay = true,
    .state_size = corked_state_size,
    .push = push,
};
