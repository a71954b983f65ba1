/* SPDX-License-Identifier: MIT */
#include "reading/multishot.h"

const struct reading reading_uring_bundle = {
    .variant = {"uring-bundle",
                "one RECV in an io_uring that goes on and fills as many provided buffers as it can at once"},
    .needs = CAPABLE_RING | CAPABLE_RECV_MULTISHOT | CAPABLE_RECV_BUNDLE,
    .options = RECEIVE_BUNDLE,
    .read = multishot_begin,
    .completed = multishot_completed,
    .buffers = multishot_buffers,
};
