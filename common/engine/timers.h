/* SPDX-License-Identifier: MIT */
/* Timers: a binary heap, the earliest first. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct timers {
    struct timer {
        uint64_t due_ns;
        void *item;
    } * list; /* has room for all timers; of the owner */
    size_t count;
};

/* The heap must not be full. */
void timers_add(struct timers *timers, uint64_t due_ns, void *item);

/* Removes the earliest timer and returns its item if it is due at `now_ns`, else returns NULL. */
void *timers_take(struct timers *timers, uint64_t now_ns);

/* When the earliest timer is due; UINT64_MAX if there is none. */
static inline uint64_t timers_next(const struct timers *timers)
{
    return timers->count ? timers->list[0].due_ns : UINT64_MAX;
}
