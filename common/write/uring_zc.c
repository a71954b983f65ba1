/* SPDX-License-Identifier: MIT */
/* The kernel sends from the memory of the fragments. A request posts two completions: the result,
 * and later a notification that the kernel no longer needs the memory (IORING_CQE_F_NOTIF). Between
 * the two, the next request may be in flight. */
#include "write/request.h"

static int submit(struct connection *connection)
{
    const struct vector_request *lending = connection->strategy_state;

    if (loans_full(connection->loans))
        return -EINPROGRESS; /* memory must return first */
    struct queue_group group = request_gather(connection);
    uint32_t number = loans_add(connection->loans, 0);
    connection->request = (struct request){.in_flight = true, .bytes = group.bytes};
    return connection->submit(connection,
                              &(struct send_request){.message = &lending->message,
                                                     .flags = MSG_WAITALL | (group.complete ? 0 : MSG_MORE),
                                                     .options = SEND_ZEROCOPY,
                                                     .token = number & REQUEST_TOKEN_MAX});
}

static int completed(struct connection *connection, const struct completion *completion)
{
    struct loan *loan = loans_of(connection->loans, completion->token);
    int sent = request_sent(completion);
    connection->request.in_flight = false;
    if (sent < 0)
        return sent;
    queue_accept(&connection->queue, (size_t)sent);
    loan->end = connection->queue.accepted;
    loan->back = !completion->more; /* no notification follows */
    loans_release(connection->loans, &connection->queue);
    return 0;
}

const struct strategy strategy_uring_zc = {
    .variant = {"uring-zc", "one SEND_ZC or SENDMSG_ZC of the group in an io_uring, without a copy"},
    .needs = CAPABLE_DESCRIPTOR | CAPABLE_RING | CAPABLE_SEND_ZC,
    .lends = LOANS_WINDOWS,
    .state_size = sizeof(struct vector_request),
    .vector_size = sizeof(struct iovec),
    .send_group = submit,
    .completed = completed,
};
