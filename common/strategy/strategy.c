/* SPDX-License-Identifier: MIT */
#include "strategy/strategy.h"

#include <limits.h>

#define AXIS strategy
#define AXIS_NAME "write strategy"
#define AXIS_LIST "strategy/list.def"
#include "base/axis.def"

int strategy_send_group(struct connection *connection)
{
    int flags = connection->strategy->flags;
    struct send_queue *queue = &connection->queue;
    struct queue_cursor cursor = queue_begin(queue);

    while (!queue_is_accepted(queue)) {
        struct fragment fragment = queue_next(queue, &cursor);
        bool last = fragment.marks & FRAGMENT_ENDS_GROUP;
        ssize_t sent = connection->top->send(connection, fragment.data, fragment.size, last ? 0 : flags);

        if (sent < 0)
            return (int)sent;
        queue_accept(queue, (size_t)sent);
        if ((size_t)sent < fragment.size)
            cursor = queue_begin(queue);
        else if (last)
            return 0;
    }
    return 0;
}

int strategy_send_vector(struct connection *connection)
{
    struct send_queue *queue = &connection->queue;
    struct iovec vectors[IOV_MAX];
    bool done = queue_is_accepted(queue);

    while (!done) {
        struct queue_group group = queue_gather(queue, vectors, IOV_MAX);
        ssize_t sent =
            connection->top->sendv(connection, vectors, group.count, group.complete ? 0 : MSG_MORE);

        if (sent < 0)
            return (int)sent;
        queue_accept(queue, (size_t)sent);
        done = group.complete && (size_t)sent == group.bytes;
    }
    return 0;
}

static int set_cork(struct connection *connection, bool on)
{
    const struct layer *layer = connection->cork_layer == CORK_RECORD ? connection->top : connection->bottom;
    bool *corked = connection->strategy_state;
    int result = *corked == on ? 0 : layer->hold(connection, on);

    if (result == 0)
        *corked = on;
    return result;
}

int group_cork(struct connection *connection)
{
    return queue_at_group_begin(&connection->queue) ? set_cork(connection, true) : 0;
}

int group_uncork(struct connection *connection)
{
    return set_cork(connection, false);
}
