/* SPDX-License-Identifier: MIT */
#include "strategy/corked.h"

static int hold(struct connection *connection, struct corked *corked, bool on)
{
    const struct layer *layer = connection->cork_layer == CORK_RECORD ? connection->top : connection->bottom;
    int result = layer->hold(connection, on);

    if (result == 0)
        corked->held = on;
    return result;
}

static int release(struct connection *connection, struct corked *corked)
{
    int result = corked->held ? hold(connection, corked, false) : 0;

    return result < 0 ? result : strategy_flush(connection);
}

int corked_push(struct connection *connection, bool (*corks)(const struct connection *connection))
{
    struct corked *corked = connection->strategy_state;

    while (!queue_is_accepted(&connection->queue) || corked->stage != BETWEEN_GROUPS) {
        int result = 0;

        if (corked->stage == BETWEEN_GROUPS && corks(connection))
            result = hold(connection, corked, true);
        else if (corked->stage == SENDING)
            result = connection->strategy->send_group(connection);
        else if (corked->stage == RELEASING)
            result = release(connection, corked);
        queue_release(&connection->queue);
        if (result < 0)
            return result;
        corked->stage = corked->stage == RELEASING ? BETWEEN_GROUPS : corked->stage + 1;
    }
    return 0;
}
