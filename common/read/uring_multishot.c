/* SPDX-License-Identifier: MIT */
#include "connection/strategy.h"

const struct reading reading_uring_multishot = {
    .variant = {"uring-multishot",
                "a multishot RECV of an io_uring, into one provided buffer of chunk bytes each time"},
    .needs = CAPABLE_RING | CAPABLE_RECV_MULTISHOT,
};
