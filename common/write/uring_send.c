/* SPDX-License-Identifier: MIT */
/* Linked requests run one after the other. MSG_WAITALL makes the kernel continue each until all its
 * bytes are sent. Without the flag, the next send would overtake the rest of a short send. Only the
 * last request of a chain, and a request that fails, post a completion. */
#include "write/request.h"

#define INDEX_BITS 8
#define LINKS_MAX (1u << INDEX_BITS)

struct chain_request {
    uint32_t generation; /* of the chain; completions of older ones are ignored */
};

static uint32_t token_of(const struct chain_request *chain, uint32_t index)
{
    return (chain->generation << INDEX_BITS | index) & REQUEST_TOKEN_MAX;
}

static int submit(struct connection *connection)
{
    struct chain_request *chain = connection->strategy_state;
    const struct send_queue *queue = &connection->queue;
    struct queue_cursor cursor = queue_begin(queue);
    struct queue_group group = queue_gather(queue, NULL, LINKS_MAX);
    unsigned silent = request_describe(connection, group.bytes, group.marks);
    uint32_t links = (uint32_t)group.count;
    int result = 0;

    chain->generation++;
    for (uint32_t i = 0; i < links && result == 0; i++) {
        struct fragment fragment = queue_next(queue, &cursor);

        result = connection->submit(
            connection, &(struct send_request){.data = fragment.data,
                                               .size = fragment.size,
                                               .flags = MSG_WAITALL,
                                               .options = i + 1 < links ? SEND_LINK | SEND_SILENT : silent,
                                               .token = token_of(chain, i),
                                               .chain = i ? 0 : links});
    }
    return result;
}

/* Of the last link, or of a short or failed one: the kernel did not begin the rest of the chain. */
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
    queue_accept(&connection->queue, queue_gather(&connection->queue, NULL, (int)index).bytes + (size_t)sent);
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
