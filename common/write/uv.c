/* SPDX-License-Identifier: MIT */
/* Writes as a program with a libuv loop does: first uv_try_write(), then uv_write() of the rest. */
#include "write/group.h"

#include <limits.h>

/* Writes the group at the head, as far as one call takes it. Submits the rest to libuv: it is
 * accepted now, and released when libuv has written it. libuv copies the vectors. */
static int write_group(struct connection *connection)
{
    struct iovec vectors[IOV_MAX];
    struct queue_group group = queue_gather(&connection->queue, vectors, IOV_MAX);
    struct msghdr message = {.msg_iov = vectors};
    ssize_t taken = connection->top->sendv(connection, vectors, group.count, 0);

    if (taken < 0 && taken != -EAGAIN)
        return (int)taken;
    if (taken > 0)
        queue_accept(&connection->queue, (size_t)taken);
    queue_release(&connection->queue);
    if ((size_t)taken == group.bytes)
        return 0;
    group = queue_gather(&connection->queue, vectors, IOV_MAX);
    message.msg_iovlen = (size_t)group.count;
    int result = connection->submit(connection, &(struct send_request){.message = &message});
    if (result < 0)
        return result;
    queue_accept(&connection->queue, group.bytes);
    connection->request = (struct request){.in_flight = true, .bytes = group.bytes};
    return 0;
}

static int completed(struct connection *connection, const struct completion *completion)
{
    connection->request.in_flight = false;
    if (completion->result == 0)
        queue_release(&connection->queue);
    return completion->result;
}

const struct strategy strategy_uv = {
    .variant = {"uv", "uv_try_write() of the group on a libuv stream, uv_write() of the rest"},
    .needs = CAPABLE_DESCRIPTOR | CAPABLE_STREAM | CAPABLE_LIBUV,
    .send_group = write_group,
    .completed = completed,
};
