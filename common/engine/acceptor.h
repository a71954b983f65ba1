/* SPDX-License-Identifier: MIT */
/*
 * The acceptor of a follower that reconnects: the data thread accepts, and the hello names the
 * connection.
 *
 * Usually the hello has arrived with the connection and is read at once. If not, the acceptor
 * watches the descriptor in a libuv loop of its own. So an engine watches two descriptors only: the
 * listener, and the backend of that loop. The acceptor closes and counts a descriptor with another
 * hello.
 */
#ifndef UNCORK_ENGINE_ACCEPTOR_H
#define UNCORK_ENGINE_ACCEPTOR_H

#include "engine/turns.h"

#include <uv.h>

struct acceptor {
    struct turns *turns;
    bool nonblocking; /* accepts nonblocking descriptors */
    uv_loop_t loop;   /* watches the descriptors with an incomplete hello */
    int pending_fd;   /* readable: call acceptor_run() */
    struct pending *first, **last;
    size_t count; /* of pending descriptors */
};

/* Whether threads of this plan can accept connections. 0, or -1 with an unsupported problem. */
int acceptor_suits(const struct plan *plan, enum end end, struct problem *problem);

/* 0 or a negative errno value. acceptor_close() works in both cases, and on a zeroed acceptor. */
int acceptor_open(struct acceptor *acceptor, struct turns *turns, bool nonblocking);
void acceptor_close(struct acceptor *acceptor);

/* The listener is readable: calls on->assigned() for each connection whose hello has arrived. */
void acceptor_accept(struct acceptor *acceptor);

/* `pending_fd` is readable: reads the hellos that have arrived. */
void acceptor_run(struct acceptor *acceptor);

#endif
