/* SPDX-License-Identifier: MIT */
/* The descriptors of a workload that reconnects: a new one for every message.
 *
 * The connection keeps its number, its counts and its position in the content. On each descriptor
 * the driver first sends the hello: the token of the run and the number of the connection. The
 * follower closes a descriptor without this hello. A foreign peer gets no hello. */
#pragma once

#include "connection/connection.h"
#include "control/hello.h"
#include "net/address.h"

struct dial {
    const struct address *target; /* the driver connects to it */
    const uint8_t *token;
    int listener;       /* of the follower, nonblocking; -1: none */
    uint64_t strangers; /* accepted descriptors without the token */
    bool proved;        /* the transport of the first accepted descriptor was checked */

    /* The owner stores the descriptors, because another thread may end the run and shut them down.
     * adopt() stores a new descriptor; if the run has ended, it closes it and returns -ECANCELED.
     * drop() closes the descriptor. */
    int (*adopt)(void *owner, struct connection *connection, int fd);
    void (*drop)(void *owner, struct connection *connection);
    void *owner;
};

/* Opens a socket for the connection, which the engine connects. 0, or a negative errno value with
 * the problem of the thread. */
int dial_open(struct dial *dial, struct connection *connection);

/* Reports the error `result` of connect(2) as the problem of the thread. Returns `result`. */
int dial_fail(const struct dial *dial, struct connection *connection, int result);

/* As dial_open(), and calls connect(2). A nonblocking connect may still be in progress; the first
 * call on the descriptor reports its error. -EAGAIN, without a problem or a descriptor: the socket
 * is nonblocking, and the backlog of its Unix listener is full. */
int dial_connect(struct dial *dial, struct connection *connection);

/* Sends the rest of the hello with MSG_MORE, and opens the filter. 0 or a negative errno value. */
int dial_send_hello(const struct dial *dial, struct connection *connection);

/* Assigns a descriptor to the connection that its hello names. 0 or a negative errno value. */
int dial_assign(struct dial *dial, struct connection *connection, int fd);

void dial_close(struct dial *dial, struct connection *connection);
