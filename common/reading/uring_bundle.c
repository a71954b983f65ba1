/* SPDX-License-Identifier: MIT */
#include "reading/multishot.h"

static ssize_t begin(struct connection *connection, size_t limit, const uint8_t **data)
{
    return multishot_begin(connection, limit, data, RECEIVE_BUNDLE);
}

const struct reading reading_uring_bundle = {
    .variant = {"uring-bundle",
                "one RECV in an io_uring that goes on and fills as many provided buffers as it can at once"},
    .needs = CAPABLE_RING | CAPABLE_RECEIVE_AGAIN | CAPABLE_RECEIVE_BUNDLE,
    .delivers = true,
    .read = begin,
    .completed = multishot_completed,
    .buffers = multishot_buffers,
};
