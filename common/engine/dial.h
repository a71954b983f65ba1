/* SPDX-License-Identifier: MIT */
/*
 * Reconnects: a workload that reconnects has a new descriptor for every message.
 *
 * The connection keeps its number, its counts and its place in the content over all its
 * descriptors. Before its first message the driver sends the hello: the token of the run and the
 * connection's number. The follower closes a descriptor without this hello. A foreign peer gets no
 * hello.
 */
#ifndef UNCORK_ENGINE_DIAL_H
#define UNCORK_ENGINE_DIAL_H

#include "connection/connection.h"
#include "control/hello.h"
#include "net/address.h"

struct dial {
    const struct plan *plan;
    const struct address *target; /* the driver's */
    const uint8_t *token;
    int listener;       /* the follower's, does not block; -1 */
    uint64_t strangers; /* connections that did not show the token */
    bool proved;        /* the first descriptor that was taken is of the plan's transport */

    /* Another thread may end the run, and must know the descriptors. adopt() takes over a new one;
     * if the run was ended, it closes it and returns -ECANCELED. drop() closes one. */
    int (*adopt)(void *owner, struct connection *connection, int fd);
    void (*drop)(void *owner, struct connection *connection);
    void *owner;
};

/* Gives a connection a new descriptor, which its engine connects. 0, or a negative errno value with
 * the problem of the workbench. */
int dial_open(struct dial *dial, struct connection *connection, bool nonblocking);

/* Reports the error `result` of connect(2) as the problem of the workbench. Returns `result`. */
int dial_fail(const struct dial *dial, struct connection *connection, int result);

/* Gives a connection a new descriptor and calls connect(2). A nonblocking connect may still be in
 * progress; the first call on the descriptor reports its error. 0, or a negative errno value with
 * the problem of the workbench. -EAGAIN, without a problem or a descriptor, if the backlog of a
 * Unix listener is full for a nonblocking socket. */
int dial_connect(struct dial *dial, struct connection *connection, bool nonblocking);

/* Sends the rest of the hello with MSG_MORE, and begins a TLS session if the plan encrypts. 0, or a
 * negative errno value. */
int dial_send_hello(const struct dial *dial, struct connection *connection);

/* Accepts a connection: its descriptor, or -1 if none is in the backlog. */
int dial_accept(struct dial *dial, struct call_counts *counts, bool nonblocking);

/* Assigns the descriptor, which has sent this connection's hello. 0 or a negative errno value. */
int dial_assign(struct dial *dial, struct connection *connection, int fd);

/* Closes the descriptor. */
void dial_close(struct dial *dial, struct connection *connection);

#endif
