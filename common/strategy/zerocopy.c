/* SPDX-License-Identifier: MIT */
/*
 * The kernel sends from the memory of the fragments. A notification on the socket's error queue
 * says when it no longer needs the memory (Documentation/networking/msg_zerocopy.rst).
 *
 * The kernel numbers the sends that sent bytes, as struct lent does. One notification may cover
 * several sends; notifications come in any order. ENOBUFS: there is no memory for another
 * notification (net.core.optmem_max). The send must wait until a notification arrives.
 */
#include "security/security.h"
#include "strategy/lent.h"
#include "strategy/strategy.h"

#include <limits.h>

static size_t state_size(size_t longest_group)
{
    (void)longest_group;
    return sizeof(struct lent);
}

/* Sends the rest of the group at the head, or as much of it as one call takes. */
static int send_some(struct connection *connection, struct lent *lent)
{
    struct send_queue *queue = &connection->queue;
    struct iovec vectors[IOV_MAX];
    struct queue_group group;
    ssize_t sent;

    if (lent_is_full(lent))
        return -EINPROGRESS;
    group = queue_gather(queue, vectors, IOV_MAX);
    sent = connection->security->sendv(connection, vectors, group.count,
                                       lending_flag | (group.complete ? 0 : MSG_MORE));
    if (sent == -ENOBUFS && lent->sends != lent->returned)
        return -EINPROGRESS;
    if (sent < 0)
        return (int)sent;
    queue_accept(queue, (size_t)sent);
    lent_add(lent, queue->accepted);
    return 0;
}

static int push(struct connection *connection)
{
    while (!queue_is_idle(&connection->queue)) {
        int result = queue_at_group_end(&connection->queue)
                         ? strategy_flush(connection)
                         : send_some(connection, connection->strategy_state);

        if (result < 0)
            return result;
    }
    return 0;
}

static void note(struct connection *connection, struct lent *lent, const struct returned *returned)
{
    struct call_counts *counts = &connection->calls.counts;
    uint32_t span = returned->last - returned->first;

    for (uint32_t number = lent->returned; number != lent->sends; number++) {
        struct loan *loan = lent_of(lent, number);

        if (number - returned->first > span || loan->back)
            continue;
        loan->back = true;
        counts->lent++;
        counts->copied += returned->copied;
    }
}

/* Reads the error queue until it is empty or no memory is lent any more. */
static int reclaim(struct connection *connection)
{
    struct lent *lent = connection->strategy_state;
    struct returned returned;
    int came = 0, result;

    while (lent->sends != lent->returned &&
           (result = calls_take_returned(&connection->calls, &returned)) != -EAGAIN) {
        if (result < 0)
            return result;
        note(connection, lent, &returned);
        lent_release(lent, &connection->queue);
        came = 1;
    }
    return came;
}

static void renew(struct connection *connection)
{
    *(struct lent *)connection->strategy_state = (struct lent){0};
}

const struct strategy strategy_zerocopy = {
    .variant = {"zerocopy", "one sendmsg(MSG_ZEROCOPY) of the group, whose memory comes back later"},
    .needs = CAPABLE_DESCRIPTOR | CAPABLE_ZEROCOPY,
    .nodelay = true,
    .zerocopy = true,
    .lends = LENT_WINDOWS,
    .state_size = state_size,
    .push = push,
    .reclaim = reclaim,
    .renew = renew,
};
