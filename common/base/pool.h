/* SPDX-License-Identifier: MIT */
/*
 * The receive buffers of one data thread.
 *
 * An end that does not keep received bytes has one buffer, which is always spare. A relay takes a
 * buffer out and gives it back when its bytes have been sent. A ring provides all buffers to the
 * kernel; on_give() notifies it of each buffer that comes back.
 */
#ifndef UNCORK_BASE_POOL_H
#define UNCORK_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

struct pool {
    uint8_t *memory; /* `count` buffers of `size` bytes, one after the other */
    size_t size;
    unsigned shift; /* by which size is a power of two above 1; 0 where it is none */
    uint32_t count;
    uint32_t *spare; /* numbers of the free buffers; the last comes next */
    uint32_t spare_count;
    struct kept {      /* by number, for a relay: */
        uint32_t size; /* bytes in the buffer */
        uint32_t next; /* number of the buffer that came after it */
    } * kept;

    /* Called for every buffer that is given back, which does not become spare then. NULL: it
     * becomes spare. */
    void (*on_give)(void *owner, uint32_t number);
    void *owner;
};

/* Makes all pages present. 0 or -ENOMEM; pool_close() it in both cases. */
int pool_open(struct pool *pool, size_t size, uint32_t count);
void pool_close(struct pool *pool);

static inline uint8_t *pool_buffer(const struct pool *pool, uint32_t number)
{
    return pool->memory + number * pool->size;
}

/* The number of the buffer in which `data` lies. A proxy asks twice for every chunk: a division is
 * not made where a shift does. */
static inline uint32_t pool_number(const struct pool *pool, const uint8_t *data)
{
    size_t offset = (size_t)(data - pool->memory);

    return (uint32_t)(pool->shift ? offset >> pool->shift : offset / pool->size);
}

/* The spare buffer that comes next, to receive into; NULL when all are taken. It stays spare. */
static inline uint8_t *pool_next(const struct pool *pool)
{
    return pool->spare_count ? pool_buffer(pool, pool->spare[pool->spare_count - 1]) : NULL;
}

/* The buffer that comes next is not spare any more. */
static inline void pool_take(struct pool *pool)
{
    pool->spare_count--;
}

/* Gives back the buffer in which `data` lies. */
static inline void pool_give(struct pool *pool, const uint8_t *data)
{
    uint32_t number = pool_number(pool, data);

    if (pool->on_give)
        pool->on_give(pool->owner, number);
    else
        pool->spare[pool->spare_count++] = number;
}

#endif
