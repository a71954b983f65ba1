/* SPDX-License-Identifier: MIT */
/* The receive buffers of one data thread.
 *
 * An end that does not keep received bytes has one buffer, which is always spare. A relay takes a
 * buffer, and releases it when its bytes have been sent. An io_uring provides all buffers to the
 * kernel; on_release() provides each released buffer again. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pool {
    uint8_t *memory; /* `count` buffers, each of `size` bytes behind `headroom` */
    size_t size, headroom;
    unsigned shift; /* size + headroom == 1 << shift; 0: that sum is 1 or no power of two */
    uint32_t count;
    uint32_t *spare; /* numbers of the free buffers; the last one is used next */
    uint32_t spare_count;
    struct kept {       /* for a relay, by the number of the first buffer of a span: */
        uint32_t size;  /* bytes in the span; only its last buffer may be partly filled */
        uint32_t count; /* buffers, one after the other in memory */
        uint32_t next;  /* number of the buffer with which the next span begins */
    } * kept;

    /* Called for `count` released buffers, which do not become spare. NULL: they become spare. */
    void (*on_release)(void *owner, uint32_t number, uint32_t count);
    void *owner;
};

/* Allocates the buffers and touches all pages. 0 or -ENOMEM; call pool_close() in both cases. */
int pool_open(struct pool *pool, size_t size, size_t headroom, uint32_t count);
void pool_close(struct pool *pool);

static inline uint8_t *pool_buffer(const struct pool *pool, uint32_t number)
{
    return pool->memory + number * (pool->size + pool->headroom) + pool->headroom;
}

/* The number of the buffer that contains `data`: by a shift if possible, which is faster. */
static inline uint32_t pool_number(const struct pool *pool, const uint8_t *data)
{
    size_t offset = (size_t)(data - pool->memory);

    return (uint32_t)(pool->shift ? offset >> pool->shift : offset / (pool->size + pool->headroom));
}

/* The next spare buffer; NULL when all are taken. It stays spare until pool_take(). */
static inline uint8_t *pool_next(const struct pool *pool)
{
    return pool->spare_count ? pool_buffer(pool, pool->spare[pool->spare_count - 1]) : NULL;
}

static inline void pool_take(struct pool *pool)
{
    pool->spare_count--;
}

/* How many buffers `size` bytes occupy if they start at the beginning of a buffer. */
static inline uint32_t pool_count(const struct pool *pool, size_t size)
{
    return size <= pool->size ? 1 : (uint32_t)((size + pool->size - 1) / pool->size);
}

/* Releases the buffers of `size` bytes, from the buffer that contains `data` on. */
static inline void pool_release(struct pool *pool, const uint8_t *data, size_t size)
{
    uint32_t number = pool_number(pool, data), count = pool_count(pool, size);

    if (pool->on_release)
        pool->on_release(pool->owner, number, count);
    else
        while (count--)
            pool->spare[pool->spare_count++] = number + count;
}
