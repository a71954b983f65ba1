/* SPDX-License-Identifier: MIT */
/* What an application sends: the grammars of the words message, reply and op.
 *
 * A message consists of fragments, and some of them form a group:
 *
 *     message = group *("/" group)          "/" ends a group, which is sent at once
 *     group   = part *("+" part)            "+" joins within a group
 *     part    = [count "x"] size            "x" repeats a fragment
 *     size    = digits ["K" / "M" / "G"]    powers of 1024
 *
 * 15x2: fifteen fragments of two bytes in one group. 32/2x4K: a header, sent at once; two pages. */
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

/* Parses the whole of `text` in place of the last shape, which is {0} at first. 0, or -1 with a
 * usage problem that shows the position of the error. */
int shape_parse(struct shape *shape, const char *text, struct problem *problem);

void shape_free(struct shape *shape);

/* The canonical spelling, which shape_parse() reads back: x repeats fragments, sizes are short.
 * The caller frees it. */
char *shape_format(const struct shape *shape);

/* What the requests of a protocol ask for, op=:
 *
 *     operations = operation *("+" operation)
 *     operation  = name [":" size] ["*" weight]    read:4K, read:4K*7+write:4K*3, ping
 *
 * A mix is spread evenly. It repeats after as many requests as the sum of its weights. So its
 * counts are exact, and the same in every run. */
#define OPERATIONS_MAX 8
#define OPERATIONS_WEIGHT_MAX 256                /* all weights together */
#define OPERATION_BYTES_MAX (UINT64_C(32) << 20) /* the limit of nbdkit and qemu-nbd */

struct operation_kind;

struct operations {
    uint32_t count; /* of `list`; 0: the word was not given */
    struct operation {
        char name[12];
        uint64_t bytes; /* of payload; 0: no size was given */
        uint32_t weight;
        const struct operation_kind *kind; /* of the protocol; words/parse.c sets it */
    } list[OPERATIONS_MAX];
    uint32_t cycle;                       /* the sum of all weights */
    uint8_t order[OPERATIONS_WEIGHT_MAX]; /* indices of `list`, by position in the cycle */
};

/* Parses the whole of `text`, for any protocol. 0, or -1 with a usage problem. */
int operations_parse(struct operations *operations, const char *text, struct problem *problem);

char *operations_format(const struct operations *operations);

static inline const struct operation *operations_at(const struct operations *operations, uint64_t number)
{
    return &operations->list[operations->count == 1 ? 0 : operations->order[number % operations->cycle]];
}
