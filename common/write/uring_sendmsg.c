/* SPDX-License-Identifier: MIT */
/* If the descriptor takes MSG_WAITALL, the kernel continues until the whole group is sent. */
#include "write/request.h"

static int submit(struct connection *connection)
{
    const struct vector_request *sending = connection->strategy_state;
    struct queue_group group = request_gather(connection);
    struct send_request request = {.message = &sending->message,
                                   .flags = request_flags(connection) | (group.complete ? 0 : MSG_MORE),
                                   .options = request_describe(connection, group.bytes, group.marks)};
    return connection->submit(connection, &request);
}

const struct strategy strategy_uring_sendmsg = {
    .variant = {"uring-sendmsg", "one SENDMSG of the group in an io_uring"},
    .needs = CAPABLE_DESCRIPTOR | CAPABLE_RING,
    .state_size = sizeof(struct vector_request),
    .vector_size = sizeof(struct iovec),
    .send_group = submit,
    .completed = request_completed,
};
