/* SPDX-License-Identifier: MIT */
/* The acceptor of a follower that reconnects: the data thread accepts, and the hello names the
 * connection. An engine watches two descriptors only: the listener, and the backend of the libuv
 * loop that watches connections whose hello is incomplete. */
#pragma once

#include "control/hello_acceptor.h"
#include "engine/event_loop.h"

#define ACCEPTOR_FDS 2

struct acceptor {
    struct event_loop *loop;
    struct hello_acceptor hellos;
    uv_loop_t uv_loop;     /* of the incomplete hellos */
    int fds[ACCEPTOR_FDS]; /* the listener, and the backend of `uv_loop` */
};

/* `nonblocking`: the mode of the descriptors that the engine expects. 0 or a negative errno value.
 * acceptor_close() works in both cases, and on a zeroed acceptor. */
int acceptor_open(struct acceptor *acceptor, struct event_loop *loop, bool nonblocking);
void acceptor_close(struct acceptor *acceptor);

/* Call when fds[index] is readable. Accepts, and reads the hellos that have arrived. Calls
 * task_accepted() for each that names a connection. */
void acceptor_readable(struct acceptor *acceptor, size_t index);
