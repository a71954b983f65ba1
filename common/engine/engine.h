/* SPDX-License-Identifier: MIT */
/*
 * An engine owns the waiting: one thread, its own connections, nothing shared while it runs.
 *
 * It tells the workload "you may send" and "these bytes arrived", asks the strategy to push and the reading
 * to take. It can wait for any strategy whose descriptor it can watch.
 */
#ifndef UNCORK_ENGINE_ENGINE_H
#define UNCORK_ENGINE_ENGINE_H

#include "base/axis.h"
#include "connection/connection.h"

struct engine {
    struct variant variant;
    unsigned gives; /* capabilities */
    bool one_each;  /* needs a thread for every connection */

    /* Runs the connections of one thread until the phase is over for all of them: their workload wants
     * nothing more and their queue is idle. 0, or a negative errno value with the problem of the connection
     * that broke. */
    int (*run)(struct connection *connections, size_t count);

    /* Half-closes the connections of one thread. Those that drive then wait for the other end's half-close:
     * everything they sent has been taken. Returns as run(). */
    int (*finish)(struct connection *connections, size_t count);
};

extern const struct axis engine_axis;

/* For the engines: what a result of a strategy ("send to") or a reading ("receive from") means for a person.
 * Sets connection->problem, unless it is set, and returns `result`. */
int engine_broken(struct connection *connection, const char *doing, int result);

/* For the engines: the peer has half-closed. 0, or -EPIPE with a problem if it was not its turn to: only a
 * driver ends the work, and only between two messages. */
int engine_peer_ended(struct connection *connection);

#endif
