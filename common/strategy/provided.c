/* SPDX-License-Identifier: MIT */
#include "strategy/provided.h"

/* The most buffers that the kernel takes for one bundle (PEEK_MAX_IMPORT in io_uring/kbuf.c, Linux
 * 6.10). */
#define BUFFERS 256u

struct provided_request {
    struct request request; /* first */
    uint32_t added;         /* fragments at the head that are in the ring */
    uint32_t marks;         /* of the last of these fragments */
    size_t bytes;           /* of all of them when added: a bundle takes all or starts again */
};

size_t provided_state_size(size_t longest_group)
{
    (void)longest_group;
    return sizeof(struct provided_request);
}

uint32_t provided_buffers(uint64_t parameter)
{
    uint32_t buffers = 1;

    if (parameter == PARAMETER_NONE)
        return BUFFERS;
    while (buffers < parameter)
        buffers *= 2;
    return buffers;
}

static void add_group(struct connection *connection, struct provided_request *providing)
{
    struct ring_buffers *buffers = &connection->slot->outgoing;

    providing->marks = 0;
    providing->bytes = 0;
    while (providing->added < buffers->count && !(providing->marks & FRAGMENT_ENDS_GROUP)) {
        struct fragment fragment = queue_fragment(&connection->queue, providing->added);

        ring_buffers_add(buffers, fragment.data, fragment.size, (uint16_t)providing->added);
        providing->marks = fragment.marks;
        providing->bytes += fragment.size;
        providing->added++;
    }
    ring_buffers_publish(buffers);
}

/* A bundle of more than BUFFERS buffers must post a completion. Linux 6.18 sends the first BUFFERS
 * of them. It sends the rest only if it did not have to wait for room. Otherwise the request counts
 * as a success, and a silent one posts nothing. */
static int submit_bundle(struct connection *connection, const struct provided_request *providing)
{
    uint32_t marks = providing->added <= BUFFERS ? providing->marks : 0;
    int flags = MSG_WAITALL | (providing->marks & FRAGMENT_ENDS_GROUP ? 0 : MSG_MORE);

    return ring_send_buffers(connection->slot, true, flags,
                             request_describe(connection, providing->bytes, marks), 0);
}

static int submit_next(struct connection *connection)
{
    struct fragment next = queue_fragment(&connection->queue, 0);

    return ring_send_buffers(connection->slot, false, request_flags(connection),
                             request_describe(connection, next.size, next.marks), 0);
}

int provided_submit(struct connection *connection, bool bundle)
{
    struct provided_request *providing = connection->strategy_state;

    if (!providing->added)
        add_group(connection, providing);
    return bundle ? submit_bundle(connection, providing) : submit_next(connection);
}

/* The fragments that were sent have left the ring. */
static void note_sent(struct connection *connection, uint64_t accepted_before)
{
    struct provided_request *providing = connection->strategy_state;

    providing->added -= (uint32_t)(connection->queue.accepted - accepted_before);
}

void provided_answered(struct connection *connection)
{
    uint64_t before = connection->queue.accepted;

    request_answered(connection);
    note_sent(connection, before);
}

/*
 * The rest of a request that was cut short is added again to a ring that must be empty. Linux 6.18
 * stops a bundle that has waited for room 128 times (APOLL_MAX_RETRY). By then it has taken all
 * buffers of the bundle out of the ring, also those that it has not begun.
 */
int provided_completed(struct connection *connection, const struct completion *completion)
{
    struct provided_request *providing = connection->strategy_state;
    uint64_t before = connection->queue.accepted;
    int result = request_completed(connection, completion);

    if (result < 0)
        return result;
    note_sent(connection, before);
    if (providing->request.under_way || !providing->request.bytes)
        return 0;
    providing->added = 0;
    return ring_buffers_empty(connection->slot->ring, &connection->slot->outgoing);
}
