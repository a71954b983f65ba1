/* SPDX-License-Identifier: MIT */
#include "strategy/strategy.h"

#include <string.h>

/* The copy of one group; `sent` of its `size` bytes were accepted. */
struct copy {
    size_t size, sent;
    bool direct; /* the group at the head is too long to copy: sends from its fragments */
    uint8_t bytes[];
};

static size_t copy_size(size_t longest_group)
{
    return longest_group;
}

static void copy_group(struct send_queue *queue, struct copy *copy)
{
    struct queue_cursor cursor = queue_begin(queue);
    struct fragment fragment = {0};

    copy->size = copy->sent = 0;
    while (cursor.span != queue->appended && !(fragment.marks & FRAGMENT_ENDS_GROUP)) {
        fragment = queue_next(queue, &cursor);
        memcpy(copy->bytes + copy->size, fragment.data, fragment.size);
        copy->size += fragment.size;
    }
    queue_accept(queue, copy->size);
    queue_release(queue);
}

static int send_copy(struct connection *connection, struct copy *copy)
{
    while (copy->sent < copy->size) {
        ssize_t sent =
            connection->top->send(connection, copy->bytes + copy->sent, copy->size - copy->sent, 0);

        if (sent < 0)
            return (int)sent;
        copy->sent += (size_t)sent;
    }
    return 0;
}

/* Without sendv(), the layer takes one piece at a time. */
static int send_direct(struct connection *connection, struct copy *copy)
{
    int result =
        connection->top->sendv ? strategy_send_vector(connection) : strategy_send_group(connection, 0);

    queue_release(&connection->queue);
    copy->direct = result < 0;
    return result;
}

static int push_group(struct connection *connection, struct copy *copy)
{
    struct send_queue *queue = &connection->queue;
    int result;

    if (!copy->direct && !queue_at_group_end(queue)) {
        copy->direct = queue_group_bytes(queue) > connection->strategy_parameter;
        if (!copy->direct)
            copy_group(queue, copy);
    }
    result = copy->direct ? send_direct(connection, copy) : send_copy(connection, copy);
    return result < 0 ? result : strategy_flush(connection);
}

static int push(struct connection *connection)
{
    int result = 0;

    while (result == 0 && !queue_is_idle(&connection->queue))
        result = push_group(connection, connection->strategy_state);
    return result;
}

const struct strategy strategy_coalesce = {
    .variant = {"coalesce", "the group copied into one buffer, one send()"},
    .parameter =
        "copies only groups up to that size; longer ones go by one sendmsg(), under TLS fragment by fragment",
    .nodelay = true,
    .state_size = sizeof(struct copy),
    .group_state_size = copy_size,
    .push = push,
};
