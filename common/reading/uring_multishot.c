/* SPDX-License-Identifier: MIT */
#include "reading/multishot.h"

const struct reading reading_uring_multishot = {
    .variant = {"uring-multishot",
                "one RECV in an io_uring that goes on, a provided buffer of chunk bytes each time"},
    .needs = CAPABLE_RING | CAPABLE_RECV_MULTISHOT,
    .read = multishot_begin,
    .completed = multishot_completed,
    .buffers = multishot_buffers,
};
