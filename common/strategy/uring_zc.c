/* SPDX-License-Identifier: MIT */
/*
 * The kernel sends from the memory of the fragments and says twice what became of a request: that it is done,
 * and later, in a second completion, that the memory is needed no more (IORING_CQE_F_NOTIF). In between the
 * next request is under way.
 */
#include "strategy/request.h"
#include "plan/sizes.h"

#define LENT_MAX 16u /* windows */

struct lending_request {
    struct request request;       /* first */
    uint32_t submitted, returned; /* requests whose memory was lent, came back; oldest first */
    struct lent {
        uint64_t end; /* number of the first fragment that it does not touch */
        bool back;
    } lent[2 * LENT_MAX];
    struct msghdr message;
    struct iovec vectors[];
};

#define LENT_SLOTS (sizeof((struct lending_request *)0)->lent / sizeof(struct lent))

static size_t state_size(size_t longest_group)
{
    return sizeof(struct lending_request) + request_vectors_most(longest_group) * sizeof(struct iovec);
}

static struct lent *lent_of(struct lending_request *lending, uint32_t number)
{
    return &lending->lent[number % LENT_SLOTS];
}

static int submit(struct connection *connection)
{
    struct lending_request *lending = connection->strategy_state;
    int limit = (int)request_vectors_most(plan_longest_group(connection->plan, connection->end));
    struct queue_group group;

    if (lending->submitted - lending->returned == LENT_SLOTS)
        return -EINPROGRESS; /* memory has to come back first */
    group = queue_gather(&connection->queue, lending->vectors, limit);
    lending->request = (struct request){.under_way = true, .bytes = group.bytes};
    lending->message = (struct msghdr){.msg_iov = lending->vectors, .msg_iovlen = (size_t)group.count};
    *lent_of(lending, lending->submitted) = (struct lent){0};
    return ring_send_zc(connection->seat, &lending->message, MSG_WAITALL | (group.complete ? 0 : MSG_MORE),
                        lending->submitted++ & RING_TOKEN_MAX);
}

static int push(struct connection *connection)
{
    return request_push(connection, submit);
}

/* Memory comes back in any order; the queue wants it in that of its fragments. */
static void release(struct connection *connection, struct lending_request *lending)
{
    while (lending->returned != lending->submitted && lent_of(lending, lending->returned)->back)
        queue_release_to(&connection->queue, lent_of(lending, lending->returned++)->end);
}

static int completed(struct connection *connection, const struct completion *completion)
{
    struct lending_request *lending = connection->strategy_state;
    struct lent *lent = lent_of(lending, completion->token);
    int sent = request_sent(completion);

    if (!completion->gives_back) {
        lending->request.under_way = false;
        if (sent < 0)
            return sent;
        queue_accept(&connection->queue, (size_t)sent);
        lent->end = connection->queue.accepted;
    }
    lent->back = completion->gives_back || !completion->more; /* one that failed at once lends nothing */
    release(connection, lending);
    return 0;
}

const struct strategy strategy_uring_zc = {
    .variant = {"uring-zc", "one SEND_ZC or SENDMSG_ZC of the group in an io_uring, without a copy"},
    .needs = CAPABLE_DESCRIPTOR | CAPABLE_RING | CAPABLE_SEND_ZC,
    .nodelay = true,
    .lends = LENT_MAX,
    .state_size = state_size,
    .push = push,
    .completed = completed,
};
