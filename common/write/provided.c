/* SPDX-License-Identifier: MIT */
#include "write/provided.h"

/* The most buffers that the kernel takes for one bundle (PEEK_MAX_IMPORT in io_uring/kbuf.c, Linux
 * 6.10). */
#define BUNDLE_BUFFERS 256u

uint32_t provided_buffers(uint64_t parameter)
{
    uint32_t buffers = 1;

    if (parameter == PARAMETER_NONE)
        return BUNDLE_BUFFERS;
    while (buffers < parameter)
        buffers *= 2;
    return buffers;
}

/* Measures the group at the head, up to as many fragments as there are buffers. */
static void measure_group(struct connection *connection, struct provided_request *providing)
{
    uint32_t most = provided_buffers(connection->strategy_parameter);
    struct queue_cursor cursor = queue_begin(&connection->queue);

    providing->added = providing->marks = 0;
    providing->end = connection->queue.accepted_bytes;
    while (providing->added < most && !(providing->marks & FRAGMENT_ENDS_GROUP)) {
        struct fragment fragment = queue_next(&connection->queue, &cursor);

        providing->added++;
        providing->marks = fragment.marks;
        providing->end += fragment.size;
    }
}

/* A bundle of more than BUNDLE_BUFFERS buffers must post a completion. Linux 6.18 first sends
 * BUNDLE_BUFFERS of them. It sends the rest only if it did not have to wait for room. If it had to,
 * the request still counts as a success, and a silent request posts no completion. */
int provided_submit(struct connection *connection)
{
    struct provided_request *providing = connection->strategy_state;
    struct send_request request = {.options = SEND_PROVIDED};

    if (providing->end == connection->queue.accepted_bytes) {
        measure_group(connection, providing);
        request.provide = providing->added;
        request.options |= providing->restart ? SEND_RESTART : 0;
        providing->restart = false;
    }
    if (connection->strategy->needs & CAPABLE_SEND_BUNDLE) {
        uint32_t marks = providing->added <= BUNDLE_BUFFERS ? providing->marks : 0;

        request.flags = MSG_WAITALL | (providing->marks & FRAGMENT_ENDS_GROUP ? 0 : MSG_MORE);
        request.options |=
            SEND_BUNDLE |
            request_describe(connection, providing->end - connection->queue.accepted_bytes, marks);
    } else {
        struct queue_cursor cursor = queue_begin(&connection->queue);
        struct fragment next = queue_next(&connection->queue, &cursor);

        request.flags = request_flags(connection);
        request.options |= request_describe(connection, next.size, next.marks);
    }
    return connection->bottom->submit(connection, &request);
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
