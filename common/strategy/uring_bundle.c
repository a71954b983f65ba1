/* SPDX-License-Identifier: MIT */
#include "strategy/provided.h"

const struct strategy strategy_uring_bundle = {
    .variant = {"uring-bundle",
                "fragments in a ring of provided buffers of an io_uring, one SEND for the group"},
    .parameter = PROVIDED_PARAMETER,
    .parameter_max = RING_BUFFERS_MAX,
    .needs = CAPABLE_DESCRIPTOR | CAPABLE_RING | CAPABLE_SEND_BUFFERS | CAPABLE_SEND_BUNDLE,
    .state_size = sizeof(struct provided_request),
    .buffers = provided_buffers,
    .send_group = provided_submit,
    .completed = provided_completed,
};
