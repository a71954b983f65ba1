/* SPDX-License-Identifier: MIT */
/* The message grammar: what an application sends, in which fragments, and which of them form a
 * group.
 *
 *     message = group *("/" group)          "/" ends a group, which is sent at once
 *     group   = part *("+" part)            "+" joins within a group
 *     part    = [count "x"] size            "x" repeats a fragment
 *     size    = digits ["K" / "M" / "G"]    powers of 1024
 *
 * 15x2 is fifteen fragments of two bytes in one group. 32/2x4K is a header that is sent at once,
 * then two pages. */
#pragma once

#include "base/problem.h"

#include <stdint.h>

#define SHAPE_FRAGMENTS_MAX 65536u
#define SHAPE_BYTES_MAX (UINT64_C(1) << 30)

enum {
    FRAGMENT_ENDS_GROUP = 1,
    FRAGMENT_ENDS_MESSAGE = 2, /* always with FRAGMENT_ENDS_GROUP */
};

/* Consecutive fragments of one size in a group: a span of the send queue. */
struct shape_span {
    uint32_t size;  /* bytes of a fragment, at least 1 */
    uint32_t bytes; /* of all its fragments */
    uint32_t marks; /* of its last fragment, and SPAN_OF_MANY */
};

struct shape {
    struct shape_span *spans;
    uint32_t span_count;
    uint32_t count; /* fragments */
    uint32_t groups;
    uint64_t bytes;         /* of all fragments */
    uint32_t longest_span;  /* bytes */
    uint64_t longest_group; /* bytes */
};

/* Parses the whole of `text`. 0, or -1 with a usage problem that shows the position of the
 * error. */
int shape_parse(struct shape *shape, const char *text, struct problem *problem);

void shape_free(struct shape *shape);

/* The canonical spelling, which shape_parse() reads back: x joins repeated fragments, and sizes are
 * short. The caller frees it. */
char *shape_format(const struct shape *shape);
