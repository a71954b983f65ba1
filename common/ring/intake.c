/* SPDX-License-Identifier: MIT */
#include "ring/intake.h"

#include "base/span.h"

#include <stdlib.h>
#include <string.h>

/* `order` has twice as many entries as the kernel has buffers. Completions of several connections
 * may come in another order than their buffers were used. So a later one may return its buffers
 * while an older one is still unread. */
static uint32_t place_of(const struct ring_intake *intake, uint32_t index)
{
    return index & (2 * intake->pool->count - 1);
}

static void on_release(void *owner, uint32_t number, uint32_t count)
{
    struct ring_intake *intake = owner;
    const struct pool *pool = intake->pool;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = place_of(intake, intake->added++);

        intake->order[place] = (uint16_t)(number + i);
        intake->places[number + i] = (uint16_t)place;
    }
    ring_buffers_add(&intake->buffers, pool_buffer(pool, number) - pool->headroom,
                     (uint32_t)(pool->size + pool->headroom), (uint16_t)number, count);
}

int intake_open(struct ring_intake *intake, struct ring *ring, struct pool *pool)
{
    int result;

    *intake = (struct ring_intake){.pool = pool};
    intake->order = calloc(2 * (size_t)pool->count, sizeof *intake->order);
    intake->places = calloc(pool->count, sizeof *intake->places);
    if (!intake->order || !intake->places)
        return -ENOMEM;
    result = ring_buffers_open(ring, &intake->buffers, INTAKE_GROUP, pool->count);
    if (result < 0)
        return result;
    pool->spare_count = 0;
    on_release(intake, 0, pool->count);
    ring_buffers_publish(&intake->buffers);
    pool->on_release = on_release;
    pool->owner = intake;
    return 0;
}

void intake_close(struct ring_intake *intake)
{
    ring_buffers_close(&intake->buffers);
    free(intake->order);
    free(intake->places);
    *intake = (struct ring_intake){0};
}

size_t intake_take(struct ring_intake *intake, uint16_t *number, size_t size, const uint8_t **data)
{
    const struct pool *pool = intake->pool;
    uint32_t first = *number, place = intake->places[first], count = 0;
    size_t taken = 0;

    *data = pool_buffer(pool, first);
    do {
        place = place_of(intake, place + 1);
        taken += pool->size;
        count++;
    } while (taken < size && !pool->headroom && taken + pool->size <= SPAN_BYTES_MAX &&
             intake->order[place] == first + count);
    *number = intake->order[place];
    intake->taken += count;
    return size < taken ? size : taken;
}

void intake_align(struct ring_intake *intake, struct completion *completion)
{
    struct pool *pool = intake->pool;
    uint16_t number = completion->buffer;
    uint8_t *bytes = pool_buffer(pool, number);
    const uint8_t *data;

    if (!pool->headroom || completion->result <= 0)
        return;
    if (completion->token != RECEIVE_MESSAGE) {
        memmove(bytes, bytes - pool->headroom, (size_t)completion->result);
    } else if ((completion->result -= (int)RECEIVE_HEADER) == 0) {
        intake_take(intake, &number, 0, &data);
        pool_release(pool, data, 0);
    }
}
