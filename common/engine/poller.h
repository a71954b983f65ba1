/* SPDX-License-Identifier: MIT */
/*
 * The state of the poll engine, for its two files: poll.c waits and handles events,
 * poll_reconnect.c opens and closes the descriptors of connections that reconnect.
 */
#ifndef UNCORK_ENGINE_POLLER_H
#define UNCORK_ENGINE_POLLER_H

#include "engine/acceptor.h"
#include "engine/stream.h"
#include "engine/turns.h"

#include <uv.h>

struct watch {
    union { /* first: libuv passes it to the callbacks */
        uv_handle_t handle;
        uv_poll_t poll;
        struct stream stream;
    };
    struct turn turn;
    int events; /* watched for: UV_READABLE, UV_WRITABLE, UV_PRIORITIZED */
};

struct poller {
    struct turns turns; /* first */
    uv_loop_t loop;
    uv_async_t wake;
    struct acceptor acceptor; /* of a follower that reconnects */
    uv_poll_t listener, pending;
    struct watch *watches;
    size_t events;     /* in this iteration of the loop */
    bool unregistered; /* the loop must run: watches changed, or a stream was written to */
};

static inline struct watch *watch_of(struct turn *turn)
{
    return (struct watch *)((char *)turn - offsetof(struct watch, turn));
}

static inline struct poller *poller_of(const struct watch *watch)
{
    return (struct poller *)watch->turn.turns;
}

/* ---- poll.c ---- */

/* The descriptor is readable: receives, and continues the connection. */
void poll_receive(struct watch *watch);

/* ---- poll_reconnect.c ---- */

/* Connects and watches the next descriptor of a driver. Returns as dial_connect(). */
int poll_connect(struct duty *duty, struct connection *connection);

/* Closes the descriptor. libuv keeps its handle until the loop has run: only then can the next
 * descriptor be watched. */
void poll_close_descriptor(struct turn *turn);

/* on->assigned() of the turns. */
void poll_assigned(struct turn *turn);

/* Begins to accept. 0 or a negative errno value. poll_close_acceptor() works in both cases, and
 * without a call of this. */
int poll_open_acceptor(struct poller *poller);
void poll_close_acceptor(struct poller *poller);

#endif
