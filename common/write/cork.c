/* SPDX-License-Identifier: MIT */
#include "write/group.h"

HOT static int send_group(struct connection *connection)
{
    uint64_t limit = connection->strategy_parameter;
    bool corks = limit == PARAMETER_NONE || queue_group_bytes(&connection->queue) <= limit;
    int result = corks ? group_cork(connection) : 0;
    return result < 0 ? result : group_send(connection);
}

const struct strategy strategy_cork = {
    .variant = {"cork", "the cork on, a send() for each fragment, the cork off"},
    .parameter = "corks only groups up to that size",
    .corks = true,
    .state_size = sizeof(bool),
    .send_group = send_group,
    .finish_group = group_uncork,
};
