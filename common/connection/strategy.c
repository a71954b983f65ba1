/* SPDX-License-Identifier: MIT */
#include "connection/strategy.h"

#include "connection/security.h"
#include "transport/transport.h"

enum cork_layer strategy_cork_layer(const struct strategy_choice *choice, const struct security *security)
{
    if (choice->layer != CORK_BY_SECURITY)
        return choice->layer;
    return security->gives & CAPABLE_RECORD_CORK ? CORK_RECORD : CORK_SEGMENT;
}

unsigned strategy_needs(const struct strategy_choice *choice, const struct security *security,
                        const struct transport *transport)
{
    const struct strategy *strategy = choice->strategy;
    unsigned needs = strategy->needs | (transport->is_tcp ? strategy->joins : 0);
    if (strategy->corks)
        needs |= strategy_cork_layer(choice, security) == CORK_RECORD ? CAPABLE_RECORD_CORK : CAPABLE_CORK;
    return needs;
}

/* Sends that copy release their memory at once. Lent memory waits until the kernel returns it. */
HOT int strategy_push(struct connection *connection)
{
    const struct strategy *strategy = connection->strategy;
    struct send_queue *queue = &connection->queue;

    while (!queue_is_idle(queue)) {
        int result = 0;

        if (LIKELY(!connection->request.in_flight && !queue_at_group_end(queue)))
            result = strategy->send_group(connection);
        if (UNLIKELY(result == 0 && connection->request.in_flight))
            return -EINPROGRESS;
        if (LIKELY(!connection->loans))
            queue_release(queue);
        if (result == 0 && strategy->finish_group)
            result = strategy->finish_group(connection);
        if (UNLIKELY(result < 0))
            return result;
        queue_flush(queue);
    }
    return 0;
}
