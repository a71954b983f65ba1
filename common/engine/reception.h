/* SPDX-License-Identifier: MIT */
/*
 * Who comes to a follower whose connections come and go: accepted in the data thread, and seated by the
 * hello.
 *
 * Mostly the hello is there with the connection and is read at once; a guest whose hello is still on the way
 * waits beside the slots. Whoever shows something else is dropped and counted.
 */
#ifndef UNCORK_ENGINE_RECEPTION_H
#define UNCORK_ENGINE_RECEPTION_H

#include "engine/engine.h"

#include <uv.h>

struct guest;

struct reception_events {
    /* Connection `number` of the thread has come, on a descriptor that is the owner's now. */
    void (*seated)(void *owner, size_t number, int fd);
};

struct reception {
    uv_poll_t listener;
    struct duty *duty;
    struct guest *guests, **last; /* whose hello is not whole yet; the first has been here longest */
    size_t waiting;               /* of them, how many are not on their way out */
    size_t *events;               /* of libuv: counted up */
    const struct reception_events *on;
    void *owner;
};

/* Begins to take connections of the dial's listener; `events` counts what libuv tells. 0 or a negative errno
 * value; reception_close() it in both cases. */
int reception_open(struct reception *reception, uv_loop_t *loop, struct duty *duty, size_t *events,
                   const struct reception_events *on, void *owner);

/* Drops whoever waits; its memory may go when the loop has turned. */
void reception_close(struct reception *reception);

/* Drops a descriptor that cannot be seated, as a stranger's. */
void reception_see_off(struct reception *reception, int fd);

#endif
