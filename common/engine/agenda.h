/* SPDX-License-Identifier: MIT */
/* Timers: a binary heap, the earliest first. Only agenda_open() allocates. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct agenda {
    struct entry {
        uint64_t due_ns;
        void *item;
    } * entries;
    size_t count;
};

void agenda_open(struct agenda *agenda, size_t capacity);
void agenda_close(struct agenda *agenda);

/* The agenda must not be full. */
void agenda_put(struct agenda *agenda, uint64_t due_ns, void *item);

/* Takes the earliest entry if it is due at `now_ns`, NULL if none is. */
void *agenda_take(struct agenda *agenda, uint64_t now_ns);

/* When the earliest entry is due; UINT64_MAX where there is none. */
static inline uint64_t agenda_next(const struct agenda *agenda)
{
    return agenda->count ? agenda->entries[0].due_ns : UINT64_MAX;
}
