/* SPDX-License-Identifier: MIT */
/*
 * A workload is a small state machine with both halves in one file: when a message is due, when a reply is
 * complete, what to time. The engine asks; a half never waits and makes no system call.
 *
 * The *driver* is the end that sends `message`: it decides when work begins and ends. The other end follows.
 */
#ifndef UNCORK_WORKLOAD_WORKLOAD_H
#define UNCORK_WORKLOAD_WORKLOAD_H

#include "base/axis.h"
#include "connection/connection.h"

struct half {
    size_t state_size;
    bool sends, receives; /* which of outgoing and incoming it uses */
    bool clocks;          /* reads the clock whenever a message has become whole */
    bool times;           /* fills connection->latency; clocks */

    /* You may send: appends what is due, as far as there is room in the queue. */
    void (*fill)(struct connection *connection);

    /* How many bytes it would take now. 0 with an idle queue after fill(): the phase is over for it. */
    size_t (*wants)(const struct connection *connection);

    /* These bytes arrived (`data` is NULL where the reading delivers none). 0, or -EBADMSG with
     * connection->problem. */
    int (*arrived)(struct connection *connection, const uint8_t *data, size_t size);
};

struct workload {
    struct variant variant;
    struct half driver, follower;

    /* The end that drives under this plan. */
    enum end (*drives)(const struct plan *plan);
};

extern const struct axis workload_axis;

#endif
