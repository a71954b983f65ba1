/* SPDX-License-Identifier: MIT */
/*
 * The acceptor of a follower that reconnects: the data thread accepts, and the hello names the
 * slot.
 *
 * Usually the hello has arrived with the connection and is read at once. A guest is an accepted
 * descriptor whose hello has not arrived; it waits outside the slots. A descriptor with another
 * hello is closed and counted. The engine waits for the listener and the guests to become readable.
 */
#ifndef UNCORK_ENGINE_RECEPTION_H
#define UNCORK_ENGINE_RECEPTION_H

#include "engine/engine.h"

struct reception_events {
    /* Connection `number` of the thread has come, on a descriptor that is the owner's now. */
    void (*seated)(void *owner, size_t number, int fd);

    /* reception_heard() is to be called when this guest can be read from. 0 or a negative errno
     * value. */
    int (*listen)(void *owner, size_t guest, int fd);

    /* And not any more: reception_gone() follows, not before this has returned. The descriptor may
     * be closed or another's by then. `heard`: in reception_heard(), when nothing is asked
     * of it. */
    void (*forget)(void *owner, size_t guest, bool heard);
};

struct reception {
    struct duty *duty;
    const struct reception_events *on;
    void *owner;
    bool nonblocking; /* what it accepts is */
    struct guest *guests;
    size_t capacity;             /* guests that can be here or on their way out */
    size_t *places, places_free; /* numbers of those that nobody has */
    size_t waiting;              /* that are here */
    uint64_t came;               /* so far: who came first has been here longest */
};

/* Whether a thread of this plan can take what comes. 0, or -1 with an unsupported problem. */
int reception_suits(const struct plan *plan, enum end end, struct problem *problem);

/* 0 or -ENOMEM; reception_close() it in both cases, and where it was never opened. */
int reception_open(struct reception *reception, struct duty *duty, bool nonblocking,
                   const struct reception_events *on, void *owner);

/* Closes the descriptors of those that wait; nothing of them is watched any more. */
void reception_close(struct reception *reception);

/* Guests that there can be, for what an engine keeps of each. */
size_t reception_capacity(const struct duty *duty);

/* The listener of the dial is readable. */
void reception_ready(struct reception *reception);

/* A guest can be read from. True if it is to be listened to again. */
bool reception_heard(struct reception *reception, size_t guest);

/* A guest is not watched any more. */
void reception_gone(struct reception *reception, size_t guest);

/* Drops a descriptor that cannot be seated, as a stranger's. */
void reception_reject(struct reception *reception, int fd);

#endif
