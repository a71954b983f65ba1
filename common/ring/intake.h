/* SPDX-License-Identifier: MIT */
/* The receive buffers of a thread, provided to the kernel.
 *
 * The kernel takes them in the order in which they were added. A completion names the first buffer
 * that it filled. A bundle continues in the buffers that were added after it. */
#pragma once

#include "base/pool.h"
#include "ring/ring.h"

#define INTAKE_GROUP 0u /* buffer group of the thread; the group of a slot is its number + 1 */

struct ring_intake {
    struct ring_buffers buffers;
    struct pool *pool;
    uint16_t *order;       /* buffer numbers, in the order in which they were added */
    uint16_t *places;      /* the index of each buffer in `order` */
    uint32_t added, taken; /* counters; the kernel has the difference */
};

/* Adds all buffers of the pool to the ring. A buffer that is returned to the pool later is added
 * again by the next intake_publish(). The pool must have a power of two of them, at most
 * RING_BUFFERS_MAX. 0 or a negative errno value; call intake_close() in both cases. */
int intake_open(struct ring_intake *intake, struct ring *ring, struct pool *pool);
void intake_close(struct ring_intake *intake);

/* Makes returned buffers visible to the kernel. The engine calls it before each ring_enter(). */
static inline void intake_publish(struct ring_intake *intake)
{
    if (intake->buffers.added)
        ring_buffers_publish(&intake->buffers);
}

static inline bool intake_has_buffers(const struct ring_intake *intake)
{
    return intake->added != intake->taken;
}

static inline uint16_t intake_after(const struct ring_intake *intake, uint16_t number)
{
    return intake->order[(intake->places[number] + 1u) & (2 * intake->pool->count - 1)];
}

/* Moves the bytes of a completion to the beginning of its buffer, behind the headroom, and sets
 * `result` to their number. At the end of a stream there is only a header: returns the buffer. */
void intake_align(struct ring_intake *intake, struct completion *completion);

/* Takes the next span of the `size` bytes that begin in buffer `number`: buffers that follow each
 * other in memory. Sets `data`, sets `number` to the next buffer, and returns the bytes in the
 * span. The kernel no longer owns these buffers. */
size_t intake_take(struct ring_intake *intake, uint16_t *number, size_t size, const uint8_t **data);
