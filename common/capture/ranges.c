/* SPDX-License-Identifier: MIT */
#include "capture/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The first range that ends at `begin` or later: the new range may join it. */
static size_t find_first(const struct ranges *ranges, uint64_t begin)
{
    size_t at = ranges->count;

    while (at > 0 && ranges->list[at - 1].end >= begin) /* new ranges are usually last */
        at--;
    return at;
}

static int insert(struct ranges *ranges, size_t at, struct range range)
{
    struct range *grown = realloc(ranges->list, (ranges->count + 1) * sizeof *grown);

    if (!grown)
        return -ENOMEM;
    ranges->list = grown;
    memmove(ranges->list + at + 1, ranges->list + at, (ranges->count - at) * sizeof *ranges->list);
    ranges->list[at] = range;
    ranges->count++;
    return 0;
}

int ranges_add(struct ranges *ranges, uint64_t begin, uint64_t end, uint64_t *fresh)
{
    struct range joined = {begin, end};
    size_t first = find_first(ranges, begin), next = first;

    *fresh = end - begin;
    for (; next < ranges->count && ranges->list[next].begin <= end; next++) {
        const struct range *known = &ranges->list[next];
        uint64_t from = known->begin > begin ? known->begin : begin, to = known->end < end ? known->end : end;

        *fresh -= to - from;
        joined.begin = known->begin < joined.begin ? known->begin : joined.begin;
        joined.end = known->end > joined.end ? known->end : joined.end;
    }
    if (next == first)
        return insert(ranges, first, joined);
    ranges->list[first] = joined;
    memmove(ranges->list + first + 1, ranges->list + next, (ranges->count - next) * sizeof *ranges->list);
    ranges->count -= next - first - 1;
    return 0;
}

void ranges_free(struct ranges *ranges)
{
    free(ranges->list);
    *ranges = (struct ranges){0};
}
