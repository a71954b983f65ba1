/* SPDX-License-Identifier: MIT */
/* Writes as a program with a libuv loop does: first uv_try_write(), then uv_write() of the rest. */
#include "strategy/strategy.h"

#include <limits.h>

/* Submits the rest of the group to libuv: accepted now, released when libuv has written it. libuv
 * copies the vectors. */
static int write_rest(struct connection *connection, bool *in_flight, struct iovec *vectors)
{
    struct queue_group rest = queue_gather(&connection->queue, vectors, IOV_MAX);
    struct msghdr message = {.msg_iov = vectors, .msg_iovlen = (size_t)rest.count};
    int result = connection->top->submit(connection, &(struct send_request){.message = &message});

    if (result < 0)
        return result;
    queue_accept(&connection->queue, rest.bytes);
    *in_flight = true;
    return -EINPROGRESS;
}

/* Writes the group at the head, or as much of it as one call takes. */
static int write_group(struct connection *connection, bool *in_flight)
{
    struct iovec vectors[IOV_MAX];
    struct queue_group group = queue_gather(&connection->queue, vectors, IOV_MAX);
    ssize_t taken = connection->top->sendv(connection, vectors, group.count, 0);

    if (taken < 0 && taken != -EAGAIN)
        return (int)taken;
    if (taken > 0)
        queue_accept(&connection->queue, (size_t)taken);
    queue_release(&connection->queue);
    return (size_t)taken == group.bytes ? 0 : write_rest(connection, in_flight, vectors);
}

static int push(struct connection *connection)
{
    bool *in_flight = connection->strategy_state;

    while (!queue_is_idle(&connection->queue)) {
        int result = -EINPROGRESS;

        if (!*in_flight)
            result = queue_at_group_end(&connection->queue) ? strategy_flush(connection)
                                                            : write_group(connection, in_flight);
        if (result < 0)
            return result;
    }
    return 0;
}

static int completed(struct connection *connection, const struct completion *completion)
{
    bool *in_flight = connection->strategy_state;

    *in_flight = false;
    if (completion->result == 0)
        queue_release(&connection->queue);
    return completion->result;
}

const struct strategy strategy_uv = {
    .variant = {"uv", "uv_try_write() of the group on a libuv stream, uv_write() of what did not go at once"},
    .needs = CAPABLE_DESCRIPTOR | CAPABLE_STREAM | CAPABLE_LOOP,
    .nodelay = true,
    .state_size = sizeof(bool), /* a write is in flight */
    .push = push,
    .completed = completed,
};
