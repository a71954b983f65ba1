/* SPDX-License-Identifier: MIT */
#include "connection/strategy.h"

HOT static ssize_t read_chunk(struct connection *connection, size_t limit, const uint8_t **data)
{
    const struct pool *pool = &connection->shared->pool;
    uint8_t *buffer = pool_next(pool);
    *data = buffer;
    return layer_receive(connection, buffer, limit < pool->size ? limit : pool->size, 0);
}

const struct reading reading_recv = {
    .variant = {"recv", "recv() into one buffer of chunk bytes"},
    .read = read_chunk,
};
