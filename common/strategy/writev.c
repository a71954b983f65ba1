/* SPDX-License-Identifier: MIT */
#include "strategy/strategy.h"

static int push(struct connection *connection)
{
    while (queue_head(&connection->queue)) {
        int result = strategy_send_vector(connection);

        queue_release(&connection->queue);
        if (result < 0)
            return result;
        queue_flush(&connection->queue);
    }
    return 0;
}

const struct strategy strategy_writev = {
    .variant = {"writev", "one sendmsg() for the group"},
    .needs = CAPABLE_DESCRIPTOR,
    .nodelay = true,
    .push = push,
};
