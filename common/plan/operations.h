/* SPDX-License-Identifier: MIT */
/* The word `op`: what the requests of a protocol ask for.
 *
 *     operations = operation *("+" operation)
 *     operation  = name [":" size] ["*" weight]    read:4K, read:4K*7+write:4K*3, ping
 *
 * A mix is spread evenly. It repeats after as many requests as the sum of its weights. So its
 * counts are exact, and the same in every run. */
#pragma once

#include "base/problem.h"

#include <stdint.h>

#define OPERATIONS_MAX 8
#define OPERATIONS_WEIGHT_MAX 256 /* all weights together */
#define OPERATION_NAME_MAX 12
#define OPERATION_BYTES_MAX (UINT64_C(32) << 20) /* the limit of nbdkit and qemu-nbd */

struct operation_kind;

struct operations {
    uint32_t count; /* of `list`; 0: the word was not given */
    struct operation {
        char name[OPERATION_NAME_MAX];
        uint64_t bytes; /* of payload; 0: no size was given */
        uint32_t weight;
        const struct operation_kind *kind; /* of the protocol; words/parse.c sets it */
    } list[OPERATIONS_MAX];
    uint32_t cycle;                       /* the sum of all weights */
    uint8_t order[OPERATIONS_WEIGHT_MAX]; /* indices of `list`, by position in the cycle */
};

/* Parses the whole of `text`. Does not check that a protocol has these operations. 0, or -1 with a
 * usage problem. */
int operations_parse(struct operations *operations, const char *text, struct problem *problem);

char *operations_format(const struct operations *operations);

static inline const struct operation *operations_at(const struct operations *operations, uint64_t number)
{
    return &operations->list[operations->count == 1 ? 0 : operations->order[number % operations->cycle]];
}
