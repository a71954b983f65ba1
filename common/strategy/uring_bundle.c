/* SPDX-License-Identifier: MIT */
#include "strategy/provided.h"

static int submit(struct connection *connection)
{
    return provided_submit(connection, true);
}

static int push(struct connection *connection)
{
    return request_push(connection, submit);
}

const struct strategy strategy_uring_bundle = {
    .variant = {"uring-bundle",
                "fragments in a ring of provided buffers of an io_uring, one SEND for the group"},
    .parameter = PROVIDED_PARAMETER,
    .parameter_max = RING_BUFFERS_MAX,
    .needs = CAPABLE_DESCRIPTOR | CAPABLE_RING | CAPABLE_SEND_BUFFERS | CAPABLE_SEND_BUNDLE,
    .nodelay = true,
    .state_size = provided_state_size,
    .buffers = provided_buffers,
    .push = push,
    .completed = provided_completed,
    .answered = provided_answered,
};
