/* SPDX-License-Identifier: MIT */
/*
 * The kernel sends from the memory of the fragments. A request posts two completions: the result,
 * and later a notification that the kernel no longer needs the memory (IORING_CQE_F_NOTIF). The
 * next request may be in flight in between.
 */
#include "connection/sizes.h"
#include "strategy/lent.h"
#include "strategy/request.h"

struct lending_request {
    struct request request; /* first */
    struct lent lent;
    struct msghdr message;
    struct iovec vectors[];
};

static size_t state_size(size_t longest_group)
{
    return sizeof(struct lending_request) + request_vectors_most(longest_group) * sizeof(struct iovec);
}

static int submit(struct connection *connection)
{
    struct lending_request *lending = connection->strategy_state;
    int limit = (int)request_vectors_most(plan_longest_group(connection->plan, connection->end));
    struct queue_group group;

    if (lent_is_full(&lending->lent))
        return -EINPROGRESS; /* memory must return first */
    group = queue_gather(&connection->queue, lending->vectors, limit);
    lending->request = (struct request){.under_way = true, .bytes = group.bytes};
    lending->message = (struct msghdr){.msg_iov = lending->vectors, .msg_iovlen = (size_t)group.count};
    return ring_send_zc(connection->slot, &lending->message, MSG_WAITALL | (group.complete ? 0 : MSG_MORE),
                        lent_add(&lending->lent, 0) & RING_TOKEN_MAX);
}

static int push(struct connection *connection)
{
    return request_push(connection, submit);
}

static int completed(struct connection *connection, const struct completion *completion)
{
    struct lending_request *lending = connection->strategy_state;
    struct loan *loan = lent_of(&lending->lent, completion->token);
    int sent = request_sent(completion);

    if (!completion->gives_back) {
        lending->request.under_way = false;
        if (sent < 0)
            return sent;
        queue_accept(&connection->queue, (size_t)sent);
        loan->end = connection->queue.accepted;
    }
    loan->back = completion->gives_back || !completion->more; /* failed: lends nothing */
    lent_release(&lending->lent, &connection->queue);
    return 0;
}

const struct strategy strategy_uring_zc = {
    .variant = {"uring-zc", "one SEND_ZC or SENDMSG_ZC of the group in an io_uring, without a copy"},
    .needs = CAPABLE_DESCRIPTOR | CAPABLE_RING | CAPABLE_SEND_ZC,
    .nodelay = true,
    .lends = LENT_WINDOWS,
    .state_size = state_size,
    .push = push,
    .completed = completed,
};
