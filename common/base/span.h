/* SPDX-License-Identifier: MIT */
/*
 * A span is a sequence of fragments of one size: 15x2 of a message, or adjacent buffers of a ring.
 * Arrivals, the send queue and releases work on spans, so many small fragments cost as much as one.
 *
 * A span has one fragment or at most SPAN_BYTES_MAX bytes, because its memory is released as a
 * whole.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SPAN_BYTES_MAX 4096u

struct span {
    const uint8_t *data;
    uint32_t size;     /* bytes of all fragments */
    uint32_t marks;    /* FRAGMENT_ENDS_GROUP, FRAGMENT_ENDS_MESSAGE of the last; SPAN_OF_MANY */
    uint32_t fragment; /* with SPAN_OF_MANY: bytes of each; the last may be shorter */
    bool repeats;      /* all fragments are the same memory; else they are adjacent */
};

#define SPAN_OF_MANY 4u /* a mark: the span has several fragments; without it, one */

static inline uint32_t span_count(const struct span *span)
{
    return span->marks & SPAN_OF_MANY ? (span->size + span->fragment - 1) / span->fragment : 1;
}
