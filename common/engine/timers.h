/* SPDX-License-Identifier: MIT */
/* Timers: a binary heap, the earliest first. Only timers_open() allocates. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct timers {
    struct entry {
        uint64_t due_ns;
        void *item;
    } * entries;
    size_t count;
};

/* 0 or -ENOMEM; call timers_close() in both cases. */
int timers_open(struct timers *timers, size_t capacity);
void timers_close(struct timers *timers);

/* The heap must not be full. */
void timers_add(struct timers *timers, uint64_t due_ns, void *item);

/* Removes the earliest entry and returns its item if it is due at `now_ns`, else returns NULL. */
void *timers_take(struct timers *timers, uint64_t now_ns);

/* When the earliest entry is due; UINT64_MAX if there is none. */
static inline uint64_t timers_next(const struct timers *timers)
{
    return timers->count ? timers->entries[0].due_ns : UINT64_MAX;
}
