/* SPDX-License-Identifier: MIT */
#include "connection/strategy.h"

const struct reading reading_uring_bundle = {
    .variant = {"uring-bundle",
                "a multishot RECV of an io_uring, into as many provided buffers as it can fill at once"},
    .needs = CAPABLE_RING | CAPABLE_RECV_MULTISHOT | CAPABLE_RECV_BUNDLE,
    .options = RECEIVE_BUNDLE,
};
