/* SPDX-License-Identifier: MIT */
#include "write/request.h"

#include "connection/memory.h"
#include "connection/security.h"
#include "connection/workload.h"
#include "write/group.h"

#include <limits.h>

int request_flags(const struct connection *connection)
{
    return connection->security->gives & CAPABLE_WAITALL ? MSG_WAITALL : 0;
}

/* `is_answered`: the next bytes of the peer prove that it has received this message, because at a
 * depth of 1 the peer sends only then. A follower at its stop gets no more bytes in this phase. */
unsigned request_describe(struct connection *connection, size_t bytes, uint32_t marks)
{
    struct request *request = &connection->request;
    bool last = marks & FRAGMENT_ENDS_GROUP && marks & FRAGMENT_ENDS_MESSAGE;
    bool whole = request_flags(connection);
    bool is_answered =
        connection->role->answered && connection->plan->depth == 1 && !connection_at_stop(connection);

    *request = (struct request){.in_flight = true, .bytes = bytes, .silent = whole && last && is_answered};
    return request->silent ? SEND_SILENT : 0;
}

int request_sent(const struct completion *completion)
{
    return completion->result == -ECANCELED ? 0 : completion->result;
}

int request_completed(struct connection *connection, const struct completion *completion)
{
    struct request *request = &connection->request;
    int sent = request_sent(completion);

    request->in_flight = completion->more;
    if (sent < 0)
        return sent;
    request->bytes -= (size_t)sent;
    queue_accept(&connection->queue, (size_t)sent);
    queue_release(&connection->queue);
    return 0;
}

size_t request_vectors_size(size_t longest_group)
{
    return (longest_group < IOV_MAX ? longest_group : IOV_MAX) * sizeof(struct iovec);
}

struct queue_group request_gather(struct connection *connection)
{
    struct vector_request *sending = connection->strategy_state;
    size_t limit =
        request_vectors_size(plan_longest_group(connection->plan, connection->end)) / sizeof(struct iovec);
    struct queue_group group = queue_gather(&connection->queue, sending->vectors, (int)limit);

    sending->message = (struct msghdr){.msg_iov = sending->vectors, .msg_iovlen = (size_t)group.count};
    return group;
}
