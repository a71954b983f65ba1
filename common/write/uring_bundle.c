/* SPDX-License-Identifier: MIT */
#include "write/request.h"

const struct strategy strategy_uring_bundle = {
    .variant = {"uring-bundle",
                "fragments in a ring of provided buffers of an io_uring, one SEND for the group"},
    PROVIDED,
    .needs = CAPABLE_DESCRIPTOR | CAPABLE_RING | CAPABLE_SEND_BUFFERS | CAPABLE_SEND_BUNDLE,
};
