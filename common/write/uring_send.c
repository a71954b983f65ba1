/* SPDX-License-Identifier: MIT */
/* Linked requests run one after the other. MSG_WAITALL makes the kernel continue each until all its
 * bytes are sent. Without the flag, the next send would overtake the rest of a short send. Only the
 * last request of a chain, and a request that fails, post a completion. */
#include "write/request.h"

struct chain_request {
    uint32_t count;      /* links */
    uint32_t generation; /* of the chain; completions of older ones are ignored */
};

#define INDEX_BITS 8
#define LINKS_MAX (1u << INDEX_BITS)

static uint32_t token_of(const struct chain_request *chain, uint32_t index)
{
    return (chain->generation << INDEX_BITS | index) & REQUEST_TOKEN_MAX;
}

static size_t bytes_of(const struct send_queue *queue, uint32_t count)
{
    struct queue_cursor cursor = queue_begin(queue);
    size_t bytes = 0;

    while (count--)
        bytes += queue_next(queue, &cursor).size;
    return bytes;
}

static uint32_t count_links(const struct send_queue *queue, uint32_t *marks)
{
    struct queue_cursor cursor = queue_begin(queue);
    uint32_t count = 0;

    for (*marks = 0; count < LINKS_MAX && !(*marks & FRAGMENT_ENDS_GROUP); count++)
        *marks = queue_next(queue, &cursor).marks;
    return count;
}

static int submit(struct connection *connection)
{
    struct chain_request *chain = connection->strategy_state;
    const struct send_queue *queue = &connection->queue;
    struct queue_cursor cursor = queue_begin(queue);
    uint32_t marks;
    unsigned silent;
    int result = 0;

    chain->count = count_links(queue, &marks);
    chain->generation++;
    silent = request_describe(connection, bytes_of(queue, chain->count), marks);
    for (uint32_t i = 0; i < chain->count && result == 0; i++) {
        struct fragment fragment = queue_next(queue, &cursor);

        result = connection->bottom->submit(
            connection,
            &(struct send_request){.data = fragment.data,
                                   .size = fragment.size,
                                   .flags = MSG_WAITALL,
                                   .options = i + 1 < chain->count ? SEND_LINK | SEND_SILENT : silent,
                                   .token = token_of(chain, i),
                                   .chain = i ? 0 : chain->count});
    }
    return result;
}

/* The completion of the last link, or of a short or failed one: the kernel did not begin the rest
 * of the chain. */
static int completed(struct connection *connection, const struct completion *completion)
{
    struct chain_request *chain = connection->strategy_state;
    uint32_t index = completion->token & (LINKS_MAX - 1);
    int sent = request_sent(completion);

    if (!connection->request.in_flight || completion->token != token_of(chain, index))
        return 0;
    connection->request.in_flight = false;
    if (sent < 0)
        return sent;
    queue_accept(&connection->queue, bytes_of(&connection->queue, index) + (size_t)sent);
    queue_release(&connection->queue);
    return 0;
}

const struct strategy strategy_uring_send = {
    .variant = {"uring-send", "each fragment by its own SEND in an io_uring, linked, one io_uring_enter()"},
    .needs = CAPABLE_DESCRIPTOR | CAPABLE_RING | CAPABLE_WAITALL,
    .state_size = sizeof(struct chain_request),
    .send_group = submit,
    .completed = completed,
};
