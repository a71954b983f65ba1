/* SPDX-License-Identifier: MIT */
#include "write/request.h"

const struct strategy strategy_uring_ring = {
    .variant = {"uring-ring", "fragments in a ring of provided buffers of an io_uring, one SEND each"},
    PROVIDED,
    .needs = CAPABLE_DESCRIPTOR | CAPABLE_RING | CAPABLE_SEND_BUFFERS,
};
