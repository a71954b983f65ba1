/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int pool_open(struct pool *pool, size_t size, size_t headroom, uint32_t count)
{
    size_t stride = size + headroom;

    *pool = (struct pool){.size = size, .headroom = headroom, .count = count};
    pool->shift = stride && !(stride & (stride - 1)) ? (unsigned)__builtin_ctzll(stride) : 0;
    if (count && stride > SIZE_MAX / count)
        return -ENOMEM;
    pool->memory = malloc(stride * count);
    pool->spare = calloc(count, sizeof *pool->spare);
    pool->kept = calloc(count, sizeof *pool->kept);
    if (!pool->memory || !pool->spare || !pool->kept)
        return -ENOMEM;
    memset(pool->memory, 0, stride * count); /* makes the pages present */
    while (pool->spare_count < count) {
        pool->spare[pool->spare_count] = count - 1 - pool->spare_count; /* buffer 0 is used first */
        pool->spare_count++;
    }
    return 0;
}

void pool_close(struct pool *pool)
{
    free(pool->memory);
    free(pool->spare);
    free(pool->kept);
    *pool = (struct pool){0};
}
