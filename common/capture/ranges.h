/* SPDX-License-Identifier: MIT */
/* Which bytes of a stream have been seen: ranges that do not touch, ascending. Nearly always there is one. */
#ifndef UNCORK_CAPTURE_RANGES_H
#define UNCORK_CAPTURE_RANGES_H

#include <stddef.h>
#include <stdint.h>

struct ranges {
    struct range {
        uint64_t begin, end; /* bytes, from `begin` to before `end` */
    } * list;
    size_t count, room;
};

/* Adds a range and says in `fresh` how many of its bytes had not been there. 0, or -ENOMEM. */
int ranges_add(struct ranges *ranges, uint64_t begin, uint64_t end, uint64_t *fresh);
void ranges_free(struct ranges *ranges);

#endif
