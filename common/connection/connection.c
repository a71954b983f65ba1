/* SPDX-License-Identifier: MIT */
#include "connection/connection.h"

#include "base/clock.h"
#include "base/digest.h"
#include "connection/layer.h"
#include "connection/memory.h"
#include "connection/protocol.h"
#include "connection/security.h"
#include "connection/strategy.h"
#include "connection/workload.h"
#include "transport/transport.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/param.h>

/* ---- a socket ---- */

ssize_t socket_sendv(struct connection *connection, struct iovec *vectors, int count, int flags)
{
    return calls_sendv(&connection->calls, vectors, count, flags);
}

ssize_t socket_send(struct connection *connection, const void *data, size_t size, int flags)
{
    return calls_send(&connection->calls, data, size, flags);
}

ssize_t socket_receive(struct connection *connection, void *data, size_t size, int flags)
{
    return calls_recv(&connection->calls, data, size, flags);
}

const struct layer layer_socket = {.send = socket_send, .sendv = socket_sendv, .receive = socket_receive};

/* ---- open and close ---- */

/* Between two readings of the clock: 50 to 500 us, and at most 64 messages. */
#define STRIDE_MAX 64u
#define STRIDE_SHORT_NS (50 * NS_PER_US)
#define STRIDE_LONG_NS (500 * NS_PER_US)

static int open_sending(struct connection *connection)
{
    const struct plan *plan = connection->plan;
    const struct strategy_choice *choice = plan_strategy(plan, connection->end);
    size_t state = plan_strategy_state(plan, connection->end);

    connection->strategy = choice->strategy;
    connection->strategy_parameter = choice->parameter;
    connection->cork_layer = strategy_cork_layer(choice, connection->security);
    connection->source_position =
        source_start(&connection->shared->source, connection->number, plan->connections);
    if ((state && !(connection->strategy_state = calloc(1, state))) ||
        (choice->strategy->lends && !(connection->loans = calloc(1, sizeof *connection->loans))) ||
        queue_open(&connection->queue, plan_queue_spans(plan, connection->end)) < 0)
        return -ENOMEM;
    connection->queue.on_release = connection->role->released;
    connection->queue.owner = connection;
    return plan->frames ? framing_open(connection) : 0;
}

int connection_open(struct connection *connection, struct thread_shared *shared)
{
    const struct plan *plan = shared->plan;
    enum end end = shared->end;
    const struct end_plan *own = &plan->ends[end];
    size_t state = plan_role_state(plan, end);

    connection->plan = plan;
    connection->shared = shared;
    connection->end = end;
    connection->window = plan_window(plan, end);
    if (!connection->twin)
        connection->peer = plan_neighbour(plan, end);
    /* a proxy follows a peer that drives, and drives a peer that follows */
    const struct end_plan *peer = &plan->ends[connection->peer];
    connection->drives = connection->twin ? peer->follows : own->drives;
    connection->follows = connection->twin ? peer->drives : own->follows;
    connection->calls.table = plan->transport->calls;
    connection->security = own->security;
    security_build_stack(connection);
    connection->role = plan_role(plan, end);
    connection->reconnects = plan->workload->reconnects;
    connection->outgoing = plan_outgoing(plan, end);
    connection->incoming = plan_incoming(plan, end);
    connection->rearms_quickack =
        plan->transport->is_tcp && connection->incoming && own->quickack == QUICKACK_REARM;
    if ((state && !(connection->role_state = calloc(1, state))) ||
        (connection->outgoing && open_sending(connection) < 0))
        return -ENOMEM;
    if (!connection->incoming)
        return 0;
    if (own->touch == TOUCH_CHECKSUM && !(connection->digest = digest_open()))
        return -ENOMEM;
    connection->examines = (plan->verify && !connection->role->relay_buffers) || connection->digest;
    connection->reading = own->reading;
    return connection->reading->open ? connection->reading->open(connection) : 0;
}

void connection_close(struct connection *connection)
{
    security_end(connection);
    queue_close(&connection->queue);
    free(connection->framing);
    if (connection->reading_state)
        connection->reading->close(connection);
    if (connection->digest)
        digest_close(connection->digest);
    free(connection->strategy_state);
    free(connection->reading_state);
    free(connection->role_state);
    free(connection->loans);
}

/* ---- lent memory ---- */

void connection_returned(struct connection *connection, uint32_t first, uint32_t last, bool copied)
{
    struct loans *loans = connection->loans;

    for (uint32_t number = loans->returned; number != loans->sends; number++) {
        struct loan *loan = loans_of(loans, number);

        if (number - first > last - first || loan->back)
            continue;
        loan->back = true;
        connection->calls.counts.lent++;
        connection->calls.counts.copied += copied;
    }
    loans_release(loans, &connection->queue);
}

/* Reads the error queue until it is empty or no memory is lent. */
int socket_reclaim(struct connection *connection)
{
    struct zerocopy_notification notification;
    int found = 0, result;
    while (loans_outstanding(connection->loans) &&
           (result = calls_take_notification(&connection->calls, &notification)) != -EAGAIN) {
        if (result < 0)
            return result;
        connection_returned(connection, notification.first, notification.last, notification.copied);
        found = 1;
    }
    return found;
}

int connection_examine(struct connection *connection, const uint8_t *data, size_t size)
{
    bool verifies = connection->plan->verify && !connection->role->relay_buffers; /* else the sink does */
    uint64_t at = connection->arrivals.bytes;
    size_t agree = verifies ? pattern_compare(data, size, at) : size;
    if (agree != size)
        return connection_refuse(connection,
                                 "the %s received wrong content at byte %" PRIu64 " of the stream",
                                 end_names[connection->end], at + agree);
    if (connection->digest)
        digest_update(connection->digest, data, size);
    return 0;
}

void connection_restart_loans(struct connection *connection)
{
    if (connection->strategy && connection->strategy->zerocopy)
        *connection->loans = (struct loans){0};
}

uint64_t connection_room_of_window(const struct connection *connection)
{
    const struct send_queue *queue = &connection->queue;
    uint64_t spans = queue->mask + 1 - (queue->appended - queue->released);
    return MIN(spans / connection->outgoing->span_count, connection->window);
}

HOT void connection_append_all(struct connection *connection, uint64_t messages)
{
    const struct shape *shape = connection->outgoing;
    while (messages--)
        for (uint32_t i = 0; i < shape->span_count; i++) {
            const struct shape_span *part = &shape->spans[i];
            bool joined = messages && part->marks & FRAGMENT_ENDS_MESSAGE;

            connection_append_span(connection, part,
                                   part->marks & ~(uint32_t)(joined ? FRAGMENT_ENDS_GROUP : 0));
        }
}

void connection_update_clock(struct thread_shared *shared)
{
    uint64_t now = clock_now_ns(), passed = now - shared->now_ns;
    if (passed < STRIDE_SHORT_NS && shared->stride < STRIDE_MAX)
        shared->stride *= 2;
    else if (passed > STRIDE_LONG_NS)
        shared->stride = 1;
    shared->unchecked = 0;
    shared->now_ns = now;
}
