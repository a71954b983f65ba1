/* SPDX-License-Identifier: MIT */
/* The transport of the ring engine: io_uring requests, and nonblocking calls. */
#include "connection/layer.h"
#include "ring/recv_buffers.h"

static int submit(struct connection *connection, const struct send_request *request)
{
    struct ring_slot *slot = connection->bottom_state;
    struct ring_buffers *outgoing = &slot->outgoing;
    struct queue_cursor cursor = queue_begin(&connection->queue);
    int result = request->options & SEND_RESTART ? ring_buffers_empty(slot->ring, outgoing) : 0;

    if (result < 0)
        return result;
    for (uint32_t i = 0; i < request->provide; i++) {
        struct fragment fragment = queue_next(&connection->queue, &cursor);

        ring_buffers_add(outgoing, fragment.data, fragment.size, (uint16_t)i, 1);
    }
    if (request->provide)
        ring_buffers_publish(outgoing);
    return ring_send(slot, request);
}

static int submit_receive(struct connection *connection, unsigned options)
{
    return ring_receive(connection->bottom_state, options);
}

static size_t take(struct connection *connection, struct completion *completion, const uint8_t **data)
{
    struct ring_slot *slot = connection->bottom_state;
    size_t size;

    if (completion->result <= 0)
        return 0;
    size = recv_buffers_take(slot->recv_buffers, &completion->buffer, (size_t)completion->result, data);
    completion->result -= (int)size;
    return size;
}

const struct layer layer_ring = {
    .send = socket_send,
    .sendv = socket_sendv,
    .submit = submit,
    .receive = socket_receive,
    .submit_receive = submit_receive,
    .take = take,
    .hold = socket_hold,
};
