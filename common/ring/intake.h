/* SPDX-License-Identifier: MIT */
/*
 * The buffers of a thread, provided to the kernel to receive into.
 *
 * The kernel takes them in the order in which they were added. A completion names the first that it filled;
 * one of a bundle goes on with those that were added after it.
 */
#ifndef UNCORK_RING_INTAKE_H
#define UNCORK_RING_INTAKE_H

#include "connection/pool.h"
#include "ring/ring.h"

#define INTAKE_GROUP 0u /* its group of buffers; those of seats are one more than their number */

struct ring_intake {
    struct ring_buffers buffers;
    struct pool *pool;
    uint16_t *order;       /* numbers of the buffers in the order in which they were added */
    uint16_t *places;      /* the place of each buffer therein */
    uint32_t added, taken; /* buffers so far; the difference is with the kernel */
};

/* Gives all buffers of the pool to the kernel, and each that is given back to the pool later: with the next
 * intake_publish(). The pool has a
 * power of two of them, at most RING_BUFFERS_MAX. 0 or a negative errno value; intake_close() it in both
 * cases. */
int intake_open(struct ring_intake *intake, struct ring *ring, struct pool *pool);
void intake_close(struct ring_intake *intake);

/* The kernel sees the buffers that were given back: before each ring_enter(). */
static inline void intake_publish(struct ring_intake *intake)
{
    if (intake->buffers.added)
        ring_buffers_publish(&intake->buffers);
}

/* Whether the kernel has a buffer left. */
static inline bool intake_has_buffers(const struct ring_intake *intake)
{
    return intake->added != intake->taken;
}

/* The next piece of `size` bytes that begin in buffer `number`: sets `data`, moves `number` on to the buffer
 * that follows, and returns how many bytes it has. That buffer is not the kernel's any more. */
size_t intake_take(struct ring_intake *intake, uint16_t *number, size_t size, const uint8_t **data);

#endif
