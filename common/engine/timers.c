/* SPDX-License-Identifier: MIT */
#include "engine/timers.h"

void timers_add(struct timers *timers, uint64_t due_ns, void *item)
{
    size_t at = timers->count++;

    while (at && timers->list[(at - 1) / 2].due_ns > due_ns) {
        timers->list[at] = timers->list[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    timers->list[at] = (struct timer){due_ns, item};
}

/* The last timer takes the place of the first, and sifts down. */
void *timers_take(struct timers *timers, uint64_t now_ns)
{
    struct timer last;
    size_t at = 0, child;
    void *item;

    if (!timers->count || timers_next(timers) > now_ns)
        return NULL;
    item = timers->list[0].item;
    last = timers->list[--timers->count];
    while ((child = 2 * at + 1) < timers->count) {
        child += child + 1 < timers->count && timers->list[child + 1].due_ns < timers->list[child].due_ns;
        if (timers->list[child].due_ns >= last.due_ns)
            break;
        timers->list[at] = timers->list[child];
        at = child;
    }
    timers->list[at] = last;
    return item;
}
