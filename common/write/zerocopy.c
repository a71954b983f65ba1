/* SPDX-License-Identifier: MIT */
/* The kernel sends from the memory of the fragments. A notification on the error queue of the
 * socket reports when it no longer needs the memory (Documentation/networking/msg_zerocopy.rst).
 *
 * The kernel numbers the sends that sent bytes, as struct loans does. One notification may cover
 * several sends; notifications come in any order. ENOBUFS: the kernel has no memory for another
 * notification (net.core.optmem_max). The send must wait until a notification arrives. */
#include "write/group.h"

#include <limits.h>

HOT static int send_group(struct connection *connection)
{
    struct loans *loans = connection->loans;
    struct send_queue *queue = &connection->queue;
    struct iovec vectors[IOV_MAX];

    do {
        struct queue_group group = queue_gather(queue, vectors, IOV_MAX);
        ssize_t sent = -ENOBUFS;

        if (!loans_full(loans))
            sent = layer_sendv(connection, vectors, group.count,
                               zerocopy_flag | (group.complete ? 0 : MSG_MORE));
        if (sent == -ENOBUFS && loans_outstanding(loans))
            return -EINPROGRESS;
        if (sent < 0)
            return (int)sent;
        queue_accept(queue, (size_t)sent);
        loans_add(loans, queue->accepted);
    } while (!queue_at_group_end(queue));
    return 0;
}

const struct strategy strategy_zerocopy = {
    .variant = {"zerocopy", "one sendmsg(MSG_ZEROCOPY) of the group, whose memory comes back later"},
    .needs = CAPABLE_DESCRIPTOR | CAPABLE_ZEROCOPY,
    .zerocopy = true,
    .lends = LOANS_WINDOWS,
    .send_group = send_group,
};
