/* SPDX-License-Identifier: MIT */
#include "ring/ring.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static void on_release(void *owner, uint32_t number, uint32_t count)
{
    struct recv_buffers *buffers = owner;
    const struct pool *pool = buffers->pool;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = recv_buffers_place(buffers, buffers->added++);

        buffers->order[place] = (uint16_t)(number + i);
        buffers->places[number + i] = (uint16_t)place;
    }
    ring_buffers_add(&buffers->ring, pool_buffer(pool, number) - pool->headroom,
                     (uint32_t)(pool->size + pool->headroom), (uint16_t)number, count);
}

int recv_buffers_open(struct recv_buffers *buffers, struct ring *ring, struct pool *pool)
{
    *buffers = (struct recv_buffers){.pool = pool};
    buffers->order = calloc(2 * (size_t)pool->count, sizeof *buffers->order);
    buffers->places = calloc(pool->count, sizeof *buffers->places);
    if (!buffers->order || !buffers->places)
        return -ENOMEM;
    int result = ring_buffers_open(ring, &buffers->ring, RECV_GROUP, pool->count);
    if (result < 0)
        return result;
    pool->spare_count = 0;
    on_release(buffers, 0, pool->count);
    ring_buffers_publish(&buffers->ring);
    pool->on_release = on_release;
    pool->owner = buffers;
    return 0;
}

void recv_buffers_close(struct recv_buffers *buffers)
{
    ring_buffers_close(&buffers->ring);
    free(buffers->order);
    free(buffers->places);
    *buffers = (struct recv_buffers){0};
}

size_t recv_buffers_take(struct recv_buffers *buffers, uint16_t *number, size_t size, const uint8_t **data)
{
    const struct pool *pool = buffers->pool;
    uint32_t first = *number, count = 0;
    size_t taken = 0;

    *data = pool_buffer(pool, first);
    do {
        *number = recv_buffers_after(buffers, *number);
        taken += pool->size;
        count++;
    } while (taken < size && !pool->headroom && taken + pool->size <= SPAN_BYTES_MAX &&
             *number == first + count);
    buffers->taken += count;
    return size < taken ? size : taken;
}

void recv_buffers_align(struct recv_buffers *buffers, struct completion *completion)
{
    struct pool *pool = buffers->pool;
    uint16_t number = completion->buffer;
    uint8_t *bytes = pool_buffer(pool, number);
    const uint8_t *data;

    if (!pool->headroom || completion->result <= 0)
        return;
    if (completion->token != RECEIVE_MESSAGE) {
        memmove(bytes, bytes - pool->headroom, (size_t)completion->result);
    } else if ((completion->result -= (int)RECEIVE_HEADER) == 0) {
        recv_buffers_take(buffers, &number, 0, &data);
        pool_release(pool, data, 0);
    }
}
