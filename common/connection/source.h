/* SPDX-License-Identifier: MIT */
/* The memory that is sent, and the content that a receiver expects.
 *
 * A source has a period of `period` bytes. The sender walks through it cyclically, span by span.
 * The connections of a thread share the source. Its memory is longer than the period by the longest
 * span, so that no span is cut. `source=hot` always sends the same buffer; `cold:SIZE` has a period
 * of SIZE.
 *
 * With verify=on the period is a multiple of PATTERN_PERIOD and the memory holds the pattern. Byte
 * n of the stream is pattern byte n mod PATTERN_PERIOD, which both ends know. PATTERN_PERIOD is
 * prime. So the content shifts when bytes are lost, doubled or reordered in any size that programs
 * use. */
#pragma once

#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_PERIOD 65521u

struct source {
    struct memory memory;
    size_t period; /* 0: always send from the beginning */
    bool patterned;
};

/* How to make the memory. */
struct source_kind {
    size_t longest; /* bytes of the longest span */
    size_t cold;    /* bytes to walk through; 0: hot */
    bool patterned;
    bool as_file; /* the memory is a file, for sendfile(2) */
};

/* 0 or a negative errno value; call source_close() in both cases. */
int source_open(struct source *source, struct source_kind kind);
void source_close(struct source *source);

/* The position at which connection `number` of `count` begins. The positions are far apart, so that
 * no connection sends bytes that another has just brought into the cache. With a pattern, each is
 * the beginning of the pattern. */
size_t source_start(const struct source *source, uint64_t number, uint64_t count);

/* Returns the next `size` bytes at `position`, which is below the period, and advances it. */
static inline const uint8_t *source_take(const struct source *source, size_t *position, size_t size)
{
    const uint8_t *data = source->memory.bytes + *position;
    if (source->period) {
        *position += size;
        if (*position >= source->period)
            *position %= source->period;
    }
    return data;
}

/* Fills `size` bytes with the pattern from byte `offset` of a stream on. */
void pattern_fill(uint8_t *data, size_t size, uint64_t offset);

/* Compares `size` bytes with the pattern at byte `offset` of a stream. Returns the number of
 * leading bytes that agree. */
size_t pattern_compare(const uint8_t *data, size_t size, uint64_t offset);
