/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static unsigned shift_of(size_t size)
{
    return size && !(size & (size - 1)) ? (unsigned)__builtin_ctzll(size) : 0;
}

int pool_open(struct pool *pool, size_t size, size_t headroom, uint32_t count)
{
    size_t stride = size + headroom;

    *pool = (struct pool){.size = size, .headroom = headroom, .count = count, .shift = shift_of(stride)};
    if (count && stride > SIZE_MAX / count)
        return -ENOMEM;
    pool->memory = malloc(stride * count);
    pool->spare = calloc(count, sizeof *pool->spare);
    pool->kept = calloc(count, sizeof *pool->kept);
    if (!pool->memory || !pool->spare || !pool->kept)
        return -ENOMEM;
    memset(pool->memory, 0, stride * count); /* makes the pages present */
    while (pool->spare_count < count) {
        pool->spare[pool->spare_count] = count - 1 - pool->spare_count; /* the first comes first */
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
