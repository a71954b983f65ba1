/* SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE_LEAST 4096u /* of all systems */

/* Makes the pages present. A compiler merges malloc(3) and memset(3) to calloc(3), which leaves
 * them absent. */
static void touch(volatile uint8_t *memory, size_t size)
{
    for (size_t at = 0; at < size; at += PAGE_LEAST)
        memory[at] = 0;
}

int pool_open(struct pool *pool, size_t size, size_t headroom, uint32_t count)
{
    size_t stride = size + headroom;

    *pool = (struct pool){.size = size, .headroom = headroom, .count = count};
    pool->shift = stride && !(stride & (stride - 1)) ? (unsigned)__builtin_ctzll(stride) : 0;
    pool->memory = calloc(count, stride);
    pool->spare = calloc(count, sizeof *pool->spare);
    pool->kept = calloc(count, sizeof *pool->kept);
    if (!pool->memory || !pool->spare || !pool->kept)
        return -ENOMEM;
    touch(pool->memory, stride * count);
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
