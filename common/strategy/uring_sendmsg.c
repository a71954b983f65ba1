/* SPDX-License-Identifier: MIT */
/* If the descriptor takes MSG_WAITALL, the kernel continues until the whole group is sent. */
#include "connection/sizes.h"
#include "strategy/request.h"

struct vector_request {
    struct request request; /* first */
    struct msghdr message;
    struct iovec vectors[]; /* must stay valid until the completion */
};

static size_t state_size(size_t longest_group)
{
    return sizeof(struct vector_request) + request_vectors_most(longest_group) * sizeof(struct iovec);
}

static int submit(struct connection *connection)
{
    struct vector_request *sending = connection->strategy_state;
    int limit = (int)request_vectors_most(plan_longest_group(connection->plan, connection->end));
    struct queue_group group = queue_gather(&connection->queue, sending->vectors, limit);
    unsigned options = request_describe(connection, group.bytes, group.marks);

    sending->message = (struct msghdr){.msg_iov = sending->vectors, .msg_iovlen = (size_t)group.count};
    return connection->top->submit(
        connection,
        &(struct send_request){.message = &sending->message,
                               .flags = request_flags(connection) | (group.complete ? 0 : MSG_MORE),
                               .options = options});
}

static int push(struct connection *connection)
{
    return request_push(connection, submit);
}

const struct strategy strategy_uring_sendmsg = {
    .variant = {"uring-sendmsg", "one SENDMSG of the group in an io_uring"},
    .needs = CAPABLE_DESCRIPTOR | CAPABLE_RING,
    .nodelay = true,
    .state_size = state_size,
    .push = push,
    .completed = request_completed,
    .answered = request_answered,
};
