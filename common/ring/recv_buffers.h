/* SPDX-License-Identifier: MIT */
/* The receive buffers of a thread, provided to the kernel.
 *
 * The kernel uses the buffers in the order in which they were added. A completion has the number of
 * the first buffer that was filled. A bundle continues in the buffers that were added next. */
#pragma once

#include "base/memory.h"
#include "ring/ring.h"

#define RECV_GROUP 0u /* buffer group of the thread; the group of a slot is its number + 1 */

struct recv_buffers {
    struct ring_buffers ring;
    struct pool *pool;
    uint16_t *order;       /* buffer numbers, in the order in which they were added */
    uint16_t *places;      /* the index of each buffer in `order` */
    uint32_t added, taken; /* counters; the kernel has the difference */
};

/* Adds all buffers of the pool to the ring. The next recv_buffers_publish() adds released buffers
 * again. The number of buffers is a power of two, at most RING_BUFFERS_MAX. 0 or a negative errno
 * value; call recv_buffers_close() in both cases. */
int recv_buffers_open(struct recv_buffers *buffers, struct ring *ring, struct pool *pool);
void recv_buffers_close(struct recv_buffers *buffers);

/* Makes released buffers visible to the kernel. The engine calls it before each ring_enter(). */
static inline void recv_buffers_publish(struct recv_buffers *buffers)
{
    if (buffers->ring.added)
        ring_buffers_publish(&buffers->ring);
}

/* Returns false if the kernel has no buffer to receive into. */
static inline bool recv_buffers_left(const struct recv_buffers *buffers)
{
    return buffers->added != buffers->taken;
}

/* `order` has twice as many entries as the kernel has buffers. Completions of several connections
 * may come in another order than their buffers were used. So the buffers of a later completion may
 * be added again while an older completion is still unread. */
static inline uint32_t recv_buffers_place(const struct recv_buffers *buffers, uint32_t index)
{
    return index & (2 * buffers->pool->count - 1);
}

/* The number of the buffer that was added after buffer `number`. */
static inline uint16_t recv_buffers_after(const struct recv_buffers *buffers, uint16_t number)
{
    return buffers->order[recv_buffers_place(buffers, buffers->places[number] + 1u)];
}

/* Moves the bytes of a completion to the beginning of its buffer, behind the headroom, and sets
 * `result` to their number. At the end of a stream there is only a header: releases the buffer. */
void recv_buffers_align(struct recv_buffers *buffers, struct completion *completion);

/* Takes a span of buffers that are adjacent in memory, from the `size` bytes that begin in buffer
 * `number`. Sets `data` to its bytes and `number` to the next buffer. Returns the size of the span
 * in bytes. The kernel no longer owns these buffers. */
size_t recv_buffers_take(struct recv_buffers *buffers, uint16_t *number, size_t size, const uint8_t **data);
