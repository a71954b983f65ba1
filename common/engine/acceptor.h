/* SPDX-License-Identifier: MIT */
/*
 * The acceptor of a follower that reconnects: the data thread accepts, and the hello names the
 * connection.
 *
 * Usually the hello has arrived with the connection and is read at once. Where it has not, the
 * descriptor waits for it in a loop of libuv that belongs to the acceptor. So an engine waits for
 * two descriptors only: the listener, and the backend of that loop. A descriptor with another hello
 * is closed and counted.
 */
#ifndef UNCORK_ENGINE_ACCEPTOR_H
#define UNCORK_ENGINE_ACCEPTOR_H

#include "engine/turns.h"

#include <uv.h>

struct acceptor {
    struct turns *turns;
    bool nonblocking; /* what it accepts is */
    uv_loop_t loop;   /* of descriptors whose hello has not arrived; `data` is the acceptor */
    int pending_fd;   /* readable: call acceptor_run() */
    struct pending *first, **last;
    size_t count; /* of these */
};

/* Whether a thread of this plan can accept its connections. 0, or -1 with an unsupported problem. */
int acceptor_suits(const struct plan *plan, enum end end, struct problem *problem);

/* 0 or a negative errno value; acceptor_close() it in both cases, and where it was never opened. */
int acceptor_open(struct acceptor *acceptor, struct turns *turns, bool nonblocking);
void acceptor_close(struct acceptor *acceptor);

/* The listener of the dial is readable: on->assigned() follows for each connection whose hello has
 * arrived. */
void acceptor_accept(struct acceptor *acceptor);

/* A descriptor that waits for its hello may be readable. */
void acceptor_run(struct acceptor *acceptor);

#endif
