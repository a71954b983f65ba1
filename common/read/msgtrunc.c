/* SPDX-License-Identifier: MIT */
#include "connection/strategy.h"

/* With MSG_TRUNC, Linux discards the bytes of a TCP stream: tcp(7). */
HOT static ssize_t discard(struct connection *connection, size_t limit, const uint8_t **data)
{
    const struct pool *pool = &connection->shared->pool;
    *data = NULL;
    return layer_receive(connection, pool_next(pool), limit < pool->size ? limit : pool->size, MSG_TRUNC);
}

const struct reading reading_msgtrunc = {
    .variant = {"msgtrunc", "recv(MSG_TRUNC): the kernel discards the bytes without copying them"},
    .needs = CAPABLE_TRUNCATE,
    .discards = true,
    .read = discard,
};
