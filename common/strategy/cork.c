/* SPDX-License-Identifier: MIT */
#include "strategy/corked.h"

static bool corks(const struct connection *connection)
{
    uint64_t limit = connection->strategy_parameter;

    return limit == PARAMETER_NONE || queue_group_bytes(&connection->queue) <= limit;
}

static int push(struct connection *connection)
{
    return corked_push(connection, corks);
}

const struct strategy strategy_cork = {
    .variant = {"cork", "the cork on, a send() for each fragment, the cork off"},
    .parameter = "corks only groups up to that size",
    .corks = true,
    .nodelay = true,
    .state_size = sizeof(struct corked),
    .push = push,
    .send_group = strategy_send_each,
};
