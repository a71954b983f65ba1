/* SPDX-License-Identifier: MIT */
#include "write/request.h"

#include "base/memory.h"
#include "connection/memory.h"
#include "connection/security.h"
#include "connection/workload.h"

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
    bool is_answered =
        connection->role->answers && connection->plan->depth == 1 && !connection_at_stop(connection);
    *request = (struct request){
        .in_flight = true, .bytes = bytes, .silent = request_flags(connection) && last && is_answered};
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

/* ---- a message of vectors ---- */

struct queue_group request_gather(struct connection *connection)
{
    struct vector_request *sending = connection->strategy_state;
    size_t limit = plan_longest_vectors(connection->plan, connection->end);
    struct queue_group group = queue_gather(&connection->queue, sending->vectors, (int)limit);
    sending->message = (struct msghdr){.msg_iov = sending->vectors, .msg_iovlen = (size_t)group.count};
    return group;
}

/* ---- provided buffers ---- */

/* The most buffers of a bundle: PEEK_MAX_IMPORT in io_uring/kbuf.c, Linux 6.10. */
#define BUNDLE_BUFFERS 256

uint32_t provided_buffers(uint64_t parameter)
{
    return parameter == PARAMETER_NONE ? BUNDLE_BUFFERS : (uint32_t)power_of_two(parameter);
}

/* A bundle of more than BUNDLE_BUFFERS buffers must post a completion. Linux 6.18 first sends
 * BUNDLE_BUFFERS of them. It sends the rest only if it did not have to wait for room. If it had to,
 * the request still counts as a success, and a silent request posts no completion. */
int provided_submit(struct connection *connection)
{
    struct provided_request *providing = connection->strategy_state;
    struct queue_group *group = &providing->group;
    const struct send_queue *queue = &connection->queue;
    struct send_request request = {.options = SEND_PROVIDED};

    if (providing->end == queue->accepted_bytes) {
        *group = queue_gather(queue, NULL, (int)provided_buffers(connection->strategy_parameter));
        providing->end += group->bytes;
        request.provide = (uint32_t)group->count;
        request.options |= providing->restart ? SEND_RESTART : 0;
        providing->restart = false;
    }
    if (connection->strategy->needs & CAPABLE_SEND_BUNDLE) {
        request.flags = MSG_WAITALL | (group->complete ? 0 : MSG_MORE);
        request.options |= SEND_BUNDLE | request_describe(connection, providing->end - queue->accepted_bytes,
                                                          group->count <= BUNDLE_BUFFERS ? group->marks : 0);
    } else {
        struct queue_group next = queue_gather(queue, NULL, 1);

        request.flags = request_flags(connection);
        request.options |= request_describe(connection, next.bytes, next.marks);
    }
    return connection->submit(connection, &request);
}

/* After a short send, the next request empties the ring and adds the rest again. The reason: Linux
 * 6.18 stops a bundle that has waited for room 128 times (APOLL_MAX_RETRY). By then it has taken
 * all buffers of the bundle out of the ring, even those that it has not begun to send. */
int provided_completed(struct connection *connection, const struct completion *completion)
{
    struct provided_request *providing = connection->strategy_state;
    const struct request *request = &connection->request;
    int result = request_completed(connection, completion);
    if (result == 0 && !request->in_flight && request->bytes) {
        providing->end = connection->queue.accepted_bytes;
        providing->restart = true;
    }
    return result;
}
