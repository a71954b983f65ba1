/* SPDX-License-Identifier: MIT */
#include "write/group.h"

#include "transport/transport.h"

#include <limits.h>

/* Sends the fragments of the span at the head, until it is accepted or a send takes less. */
HOT NOT_INLINE static ssize_t send_fragments(struct connection *connection, int flags)
{
    struct send_queue *queue = &connection->queue;
    struct queue_cursor cursor = queue_begin(queue);
    struct fragment fragment;
    ssize_t sent;

    do {
        fragment = queue_next(queue, &cursor);
        sent = layer_send(connection, fragment.data, fragment.size,
                          fragment.marks & FRAGMENT_ENDS_GROUP ? 0 : flags);
        if (sent > 0)
            queue_accept(queue, (size_t)sent);
    } while ((size_t)sent == fragment.size && cursor.before);
    return sent;
}

HOT int group_send(struct connection *connection)
{
    int flags = connection->strategy->flags;
    struct send_queue *queue = &connection->queue;

    while (!queue_is_accepted(queue)) {
        uint64_t number = queue->accepted;
        const struct span *head = &queue->ring[number & queue->mask];
        bool ends_group = head->marks & FRAGMENT_ENDS_GROUP;
        ssize_t sent;

        if (head->marks & SPAN_OF_MANY) {
            sent = send_fragments(connection, flags);
        } else {
            sent = layer_send(connection, head->data + queue->offset, head->size - queue->offset,
                              ends_group ? 0 : flags);
            if (sent > 0)
                queue_accept(queue, (size_t)sent);
        }
        if (sent < 0)
            return (int)sent;
        if (LIKELY(queue->accepted != number) && ends_group)
            return 0;
    }
    return 0;
}

HOT int group_send_vector(struct connection *connection)
{
    struct send_queue *queue = &connection->queue;
    struct iovec vectors[IOV_MAX];

    do {
        struct queue_group group = queue_gather(queue, vectors, IOV_MAX);
        ssize_t sent = layer_sendv(connection, vectors, group.count, group.complete ? 0 : MSG_MORE);

        if (sent < 0)
            return (int)sent;
        queue_accept(queue, (size_t)sent);
    } while (!queue_at_group_end(queue));
    return 0;
}

HOT static int set_cork(struct connection *connection, bool on)
{
    bool *corked = connection->strategy_state;
    if (*corked == on)
        return 0;
    int result = connection->cork_layer == CORK_RECORD ? connection->top->hold(connection, on)
                                                       : options_set_cork(&connection->calls, on);
    if (result == 0)
        *corked = on;
    return result;
}

HOT int group_cork(struct connection *connection)
{
    return queue_at_group_begin(&connection->queue) ? set_cork(connection, true) : 0;
}

HOT int group_uncork(struct connection *connection)
{
    return set_cork(connection, false);
}
