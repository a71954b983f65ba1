/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that come and go while an engine runs: a workload that renews them has one for every message.
 *
 * A connection then is a slot: it keeps its number, its counts and its place in the content over all the
 * descriptors that it has had. The driver connects and shows the token of the run and the number of its slot
 * before its first message; the follower takes who shows it and drops all others. A foreign peer is shown
 * nothing.
 */
#ifndef UNCORK_ENGINE_DIAL_H
#define UNCORK_ENGINE_DIAL_H

#include "connection/connection.h"
#include "control/hello.h"
#include "transport/address.h"

struct dial {
    const struct plan *plan;
    const struct address *target; /* the driver's */
    const uint8_t *token;
    int listener;       /* the follower's, does not block; -1 */
    uint64_t strangers; /* connections that did not show the token */
    bool proved;        /* the first descriptor that was taken is of the plan's transport */

    /* Whoever may end the run from another thread must know the descriptors: takes a new one over
     * (-ECANCELED, and it is closed, where the run was ended), lets go of one. */
    int (*adopt)(void *owner, struct connection *connection, int fd);
    void (*drop)(void *owner, struct connection *connection);
    void *owner;
};

/* Gives a connection a new descriptor, on which its engine is to connect. 0, or a negative errno value with
 * the problem of the workbench. */
int dial_open(struct dial *dial, struct connection *connection, bool nonblocking);

/* What came of connecting (a negative errno value, which it returns), as a problem of the workbench. */
int dial_broken(const struct dial *dial, struct connection *connection, int result);

/* Gives a connection a new descriptor on which connect(2) has been called; one that does not block may still
 * be under way, and the first call on it will say. 0, or a negative errno value with the problem of the
 * workbench; -EAGAIN without one, and no descriptor, where a Unix listener has no room for another that does
 * not block. */
int dial_out(struct dial *dial, struct connection *connection, bool nonblocking);

/* Sends what is left of the hello, held back for what follows, and begins a session of TLS where the plan
 * encrypts. 0, or a negative errno value. */
int dial_greet(const struct dial *dial, struct connection *connection);

/* Takes a connection that waits: its descriptor, or -1 where none does. */
int dial_accept(struct dial *dial, struct call_counts *counts, bool nonblocking);

/* Gives the descriptor, which has shown the hello of this connection, to it. 0 or a negative errno value. */
int dial_take(struct dial *dial, struct connection *connection, int fd);

/* Closes the descriptor. */
void dial_hang_up(struct dial *dial, struct connection *connection);

#endif
