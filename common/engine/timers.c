/* SPDX-License-Identifier: MIT */
#include "engine/timers.h"

#include <errno.h>
#include <stdlib.h>

int timers_open(struct timers *timers, size_t capacity)
{
    *timers = (struct timers){.entries = calloc(capacity, sizeof *timers->entries)};
    return timers->entries ? 0 : -ENOMEM;
}

void timers_close(struct timers *timers)
{
    free(timers->entries);
    *timers = (struct timers){0};
}

void timers_add(struct timers *timers, uint64_t due_ns, void *item)
{
    size_t at = timers->count++;

    while (at && timers->entries[(at - 1) / 2].due_ns > due_ns) {
        timers->entries[at] = timers->entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    timers->entries[at] = (struct entry){due_ns, item};
}

/* The last entry takes the place of the first, and sifts down. */
void *timers_take(struct timers *timers, uint64_t now_ns)
{
    struct entry last;
    size_t at = 0, child;
    void *item;

    if (!timers->count || timers_next(timers) > now_ns)
        return NULL;
    item = timers->entries[0].item;
    last = timers->entries[--timers->count];
    while ((child = 2 * at + 1) < timers->count) {
        child +=
            child + 1 < timers->count && timers->entries[child + 1].due_ns < timers->entries[child].due_ns;
        if (timers->entries[child].due_ns >= last.due_ns)
            break;
        timers->entries[at] = timers->entries[child];
        at = child;
    }
    timers->entries[at] = last;
    return item;
}
