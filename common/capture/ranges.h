/* SPDX-License-Identifier: MIT */
/* The bytes of a stream that were seen: disjoint ranges, ascending. Nearly always there is one
 * range. */
#ifndef UNCORK_CAPTURE_RANGES_H
#define UNCORK_CAPTURE_RANGES_H

#include <stddef.h>
#include <stdint.h>

struct ranges {
    struct range {
        uint64_t begin, end; /* bytes `begin` to `end` - 1 */
    } * list;
    size_t count;
};

/* Adds a range; `fresh` gets the number of its bytes that are new. 0, or -ENOMEM. */
int ranges_add(struct ranges *ranges, uint64_t begin, uint64_t end, uint64_t *fresh);
void ranges_free(struct ranges *ranges);

#endif
