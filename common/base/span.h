/* SPDX-License-Identifier: MIT */
/*
 * A span is fragments of one size in one memory: 15x2 of a message, or the buffers of a ring that
 * follow each other. Arrivals, the send queue and releases have spans, so many small fragments cost
 * them as much as one.
 *
 * A span has at most SPAN_BYTES_MAX bytes, or one fragment, because its memory comes back together.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SPAN_BYTES_MAX 4096u

struct span {
    const uint8_t *data;
    uint32_t size;     /* bytes of all fragments */
    uint32_t marks;    /* of the last: FRAGMENT_ENDS_GROUP, FRAGMENT_ENDS_MESSAGE; SPAN_OF_MANY */
    uint32_t fragment; /* bytes of each, but the last may be shorter; where there are many */
    bool repeats;      /* all of them are the same memory; else one follows the other */
};

#define SPAN_OF_MANY 4u /* beside the marks of a fragment: without it the span is one fragment */

static inline uint32_t span_count(const struct span *span)
{
    return span->marks & SPAN_OF_MANY ? (span->size + span->fragment - 1) / span->fragment : 1;
}
