/* SPDX-License-Identifier: MIT */
/*
 * A workload is a small state machine with both roles in one file: when a message is due, when a reply is
 * complete, what to time. The engine asks; a role never waits and makes no system call.
 *
 * A role plays a role. The *driver* sends `message` and decides when work begins and ends; the *follower*
 * takes it, and answers where there are replies. In `direction=both` each
 * end does both. The *proxy* stands between the two and sends on what it receives: it follows whoever drives.
 * The *taker* receives from a foreign peer that sends without end, and decides when it has had
 * enough.
 */
#ifndef UNCORK_WORKLOAD_WORKLOAD_H
#define UNCORK_WORKLOAD_WORKLOAD_H

#include "base/axis.h"
#include "connection/connection.h"

enum role_index { ROLE_DRIVER, ROLE_FOLLOWER, ROLE_BOTH, ROLE_TAKER, ROLE_PROXY, ROLE_COUNT };

#define NEVER UINT64_MAX

struct role {
    bool sends, receives; /* which of outgoing and incoming it uses */
    bool clocks;          /* reads the clock whenever a message has become whole */
    bool times;           /* gets replies and fills the workbench's latency; clocks */

    bool reconnects; /* has a descriptor for every message: see engine/dial.h */

    /* What arrives stays in its buffer after arrived(), until released() gives that back: receive buffers
     * that the two connections of a pair keep at most. NULL: what arrived is forgotten. */
    size_t (*relay_buffers)(const struct plan *plan);

    /* Bytes of its state under this plan; NULL: none. */
    size_t (*state_size)(const struct plan *plan);

    /* A phase begins: workbench and messages_left say how long it is. NULL: nothing to prepare. */
    void (*begin)(struct connection *connection);

    /* You may send: appends what is due, one window at most, as far as there is room in the queue. */
    void (*fill)(struct connection *connection);

    /* How many bytes it would take now. */
    size_t (*wants)(const struct connection *connection);

    /* Whether there is room enough that a reading which then goes on by itself is worth its beginning. NULL:
     * there always is. */
    bool (*has_room)(const struct connection *connection);

    /* These bytes arrived (`data` is NULL where the reading delivers none). 0, or -EBADMSG with the problem
     * of the workbench. */
    int (*arrived)(struct connection *connection, const uint8_t *data, size_t size);

    /* After something arrived at a depth of 1: whether it answers all that was sent. NULL: nobody answers. */
    bool (*answered)(const struct connection *connection);
    /* A fragment of its queue is released, in order. NULL: nobody wants the memory back. */
    void (*released)(void *connection, const struct fragment *fragment);

    /* When fill() will have something that is not due yet, CLOCK_MONOTONIC; NEVER where only an arrival can
     * give it something. NULL: never. */
    uint64_t (*next)(const struct connection *connection);

    /* The phase is over for it, once its queue is idle. NULL: when it wants nothing and fill() will never
     * have anything. */
    bool (*over)(const struct connection *connection);

    /* Messages whose time came in this phase and that were not begun. NULL: it has no schedule. */
    uint64_t (*missed)(const struct connection *connection);
};

struct workload {
    struct variant variant;
    struct role roles[ROLE_COUNT]; /* those of roles that it has not are empty */

    /* The role of an end under this plan. */
    enum role_index (*role)(const struct plan *plan, enum end end);
};

extern const struct axis workload_axis;

static inline uint64_t role_next(const struct connection *connection)
{
    return connection->role->next ? connection->role->next(connection) : NEVER;
}

/* Whether the phase is over for a connection whose queue is idle after fill(). */
static inline bool role_is_over(const struct connection *connection)
{
    const struct role *role = connection->role;

    return role->over ? role->over(connection)
                      : role->wants(connection) == 0 && role_next(connection) == NEVER;
}

#endif
