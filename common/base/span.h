/* SPDX-License-Identifier: MIT */
/*
 * A span is fragments of one size in one memory: 15x2 of a message, or the buffers of a ring that
 * follow each other. Arrivals, the send queue and releases have spans, so many small fragments cost
 * them as much as one.
 *
 * A span has at most SPAN_BYTES_MAX bytes, or one fragment, because its memory comes back together.
 */
#ifndef UNCORK_BASE_SPAN_H
#define UNCORK_BASE_SPAN_H

#include <stdint.h>

#define SPAN_BYTES_MAX 4096u

struct span {
    const uint8_t *data;
    uint32_t size;     /* bytes of all fragments */
    uint32_t fragment; /* bytes of each; the last may be shorter */
    uint32_t stride;   /* bytes from one to the next; 0: all of them are the same memory */
    uint32_t marks;    /* of the last: FRAGMENT_ENDS_GROUP, FRAGMENT_ENDS_MESSAGE */
};

static inline uint32_t span_count(const struct span *span)
{
    return span->size <= span->fragment ? 1 : (span->size + span->fragment - 1) / span->fragment;
}

#endif
