/* SPDX-License-Identifier: MIT */
/* Accepts data connections, and reads the hello of each, which decides what becomes of it.
 *
 * Usually the hello has arrived with the connection, and is read at once. Else a libuv loop watches
 * the descriptor until the hello is whole. No byte beyond the hello is read. */
#pragma once

#include "base/calls.h"
#include "control/hello.h"

#include <sys/queue.h>
#include <uv.h>

struct hello_acceptor {
    int listener;               /* nonblocking; -1 after hello_acceptor_close() */
    bool blocking;              /* accepted descriptors are blocking when on_hello() gets them */
    size_t hello_size;          /* bytes: HELLO_SIZE or SINK_HELLO_SIZE */
    size_t late_max;            /* descriptors that may wait for their hello; then the oldest is rejected */
    uv_loop_t *loop;            /* watches them */
    struct call_counts *counts; /* of the accepts and receives */
    uint64_t *rejected;         /* counts the connections that were closed: no hello, or a wrong one */

    /* A hello is whole. True: the owner takes the descriptor. False: it is closed and counted. */
    bool (*on_hello)(void *owner, const uint8_t *hello, int fd);
    void *owner;

    TAILQ_HEAD(, late_hello) late; /* descriptors with an incomplete hello, oldest first */
    size_t late_count;
};

/* Call it after the fields above `late` are set. */
void hello_acceptor_open(struct hello_acceptor *acceptor);

/* The listener is readable: accepts until its backlog is empty, but at most `most` connections.
 * Returns true if a hello is late: libuv watches a new descriptor only when its loop runs. */
bool hello_acceptor_accept(struct hello_acceptor *acceptor, size_t most);

/* Closes the descriptors with an incomplete hello. Their memory is freed when the loop next runs.
 * The listener stays open. on_hello() may call it. */
void hello_acceptor_close(struct hello_acceptor *acceptor);
