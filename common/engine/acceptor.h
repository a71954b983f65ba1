/* SPDX-License-Identifier: MIT */
/* The acceptor of a follower that reconnects: the data thread accepts, and the hello names the
 * connection.
 *
 * Usually the hello has arrived with the connection, and the acceptor reads it at once. If not, the
 * acceptor watches the descriptor in a libuv loop of its own. So an engine watches two descriptors
 * only: the listener, and the backend of that loop. The acceptor closes a descriptor with a wrong
 * hello, and counts it. */
#pragma once

#include "engine/event_loop.h"

#include <sys/queue.h>
#include <uv.h>

#define ACCEPTOR_FDS 2

struct acceptor {
    struct event_loop *loop;
    bool nonblocking;              /* accepts nonblocking descriptors */
    uv_loop_t uv_loop;             /* watches the waiting descriptors */
    int fds[ACCEPTOR_FDS];         /* the listener, and the backend of `uv_loop` */
    TAILQ_HEAD(, pending) waiting; /* descriptors with an incomplete hello, oldest first */
    size_t count;                  /* of these descriptors */
};

/* 0 or a negative errno value. acceptor_close() works in both cases, and on a zeroed acceptor. */
int acceptor_open(struct acceptor *acceptor, struct event_loop *loop, bool nonblocking);
void acceptor_close(struct acceptor *acceptor);

/* Call when fds[index] is readable. Accepts, and reads the hellos that have arrived. Calls
 * task_accepted() for each that names a connection. */
void acceptor_readable(struct acceptor *acceptor, size_t index);
