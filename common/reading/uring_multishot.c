/* SPDX-License-Identifier: MIT */
#include "reading/multishot.h"

static ssize_t begin(struct connection *connection, size_t limit, const uint8_t **data)
{
    return multishot_begin(connection, limit, data, 0);
}

const struct reading reading_uring_multishot = {
    .variant = {"uring-multishot",
                "one RECV in an io_uring that goes on, a provided buffer of chunk bytes each time"},
    .needs = CAPABLE_RING | CAPABLE_RECEIVE_AGAIN,
    .delivers = true,
    .read = begin,
    .completed = multishot_completed,
    .buffers = multishot_buffers,
};
