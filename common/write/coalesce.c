/* SPDX-License-Identifier: MIT */
#include "write/group.h"

#include <string.h>

/* The copy of one group; `sent` of its `size` bytes are sent. */
struct copy {
    size_t size, sent;
    uint8_t bytes[];
};

HOT static void copy_group(struct send_queue *queue, struct copy *copy)
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
}

HOT static int send_copy(struct connection *connection)
{
    struct copy *copy = connection->strategy_state;
    while (copy->sent < copy->size) {
        ssize_t sent = layer_send(connection, copy->bytes + copy->sent, copy->size - copy->sent, 0);

        if (sent < 0)
            return (int)sent;
        copy->sent += (size_t)sent;
    }
    return 0;
}

/* Sends a group that is too long to copy by sendv() if the layer has it, else one by one. */
HOT static int send_group(struct connection *connection)
{
    struct send_queue *queue = &connection->queue;
    if (!queue_at_group_begin(queue) || queue_group_bytes(queue) > connection->strategy_parameter)
        return connection->top->sendv ? group_send_vector(connection) : group_send(connection);
    copy_group(queue, connection->strategy_state);
    return 0;
}

const struct strategy strategy_coalesce = {
    .variant = {"coalesce", "the group copied into one buffer, one send()"},
    .parameter =
        "copies only groups up to that size; longer ones go by one sendmsg(), under TLS fragment by fragment",
    .state_size = sizeof(struct copy),
    .byte_size = 1,
    .send_group = send_group,
    .finish_group = send_copy,
};
