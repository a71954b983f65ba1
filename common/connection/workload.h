/* SPDX-License-Identifier: MIT */
/* A workload is a small state machine with both roles in one file. It decides when a message is
 * due, when a reply is complete, and what is timed. The engine calls it; a role never blocks and
 * makes no system call.
 *
 * - The *driver* sends `message` and decides when work begins and ends.
 * - The *follower* receives it, and sends the replies, if there are any. In `direction=both` each
 *   end does both.
 * - The *proxy* stands between the two and forwards what it receives. It follows the driver.
 * - The *taker* receives from a foreign peer that sends without end, and decides when to stop. */
#pragma once

#include "base/axis.h"
#include "connection/connection.h"

enum role_index { ROLE_DRIVER, ROLE_FOLLOWER, ROLE_BOTH, ROLE_TAKER, ROLE_PROXY, ROLE_COUNT };

#define NEVER UINT64_MAX

struct role {
    bool sends, receives; /* uses outgoing, uses incoming */
    bool clocks;          /* reads the clock when a message is complete */
    bool times;           /* receives replies and fills the latency of the thread; needs clocks */

    bool frames; /* by the protocol of the plan; has connection->framing */

    /* The most receive buffers that the two connections of a pair hold. After arrived(), the bytes
     * stay in their buffer until released() returns it. NULL: the role keeps no bytes. */
    size_t (*relay_buffers)(const struct plan *plan);

    /* Bytes of state under this plan; NULL: none. */
    size_t (*state_size)(const struct plan *plan);

    /* A phase begins: the deadline of the thread and messages_left bound its length. NULL: nothing
     * to prepare. */
    void (*begin)(struct connection *connection);

    /* Appends the messages that are due to the queue: at most connection_room(). NULL: it sends
     * none. */
    void (*fill)(struct connection *connection);

    /* The number of bytes that it accepts now. */
    size_t (*wants)(const struct connection *connection);

    /* Returns true if there is room to start a multishot reading. NULL: always. */
    bool (*has_room)(const struct connection *connection);

    /* Handles bytes that arrived (`data` is NULL if the reading does not deliver). 0, or -EBADMSG
     * with the problem of the thread. */
    int (*arrived)(struct connection *connection, const uint8_t *data, size_t size);

    /* At a depth of 1, after bytes arrived: returns true if they answer all that was sent. NULL:
     * this role gets no answers. */
    bool (*answered)(const struct connection *connection);
    /* The queue released a span; the calls come in order. NULL: the role needs no memory back. */
    void (*released)(void *connection, const struct span *span);

    /* The time (CLOCK_MONOTONIC) when fill() has the next message. NEVER: only after bytes arrive.
     * NULL: NEVER. */
    uint64_t (*next)(const struct connection *connection);

    /* Returns true if the phase is over for it; the queue is idle. NULL: the phase is over when it
     * wants no bytes and fill() will have none. */
    bool (*over)(const struct connection *connection);

    /* Bytes of the next `count` messages that it sends. NULL: all have the outgoing shape. */
    uint64_t (*bytes_of)(const struct connection *connection, uint64_t count);

    /* Number of messages that were due in this phase and not begun. NULL: it has no schedule. */
    uint64_t (*missed)(const struct connection *connection);
};

struct workload {
    struct variant variant;
    bool runs_command;                    /* no connection of ours: the client runs a program */
    bool reconnects;                      /* a new descriptor for every message: see engine/dial.h */
    const struct role *roles[ROLE_COUNT]; /* NULL: the workload has no such role */
    const struct role *const *framed;     /* in place of them where a protocol frames; NULL: none can */

    /* The role of an end under this plan. */
    enum role_index (*role)(const struct plan *plan, enum end end);
};

extern const struct axis workload_axis; /* workload/list.def */

/* wants() of a role that receives until its peer has half-closed, or until its stop. */
static inline size_t role_wants_all(const struct connection *connection)
{
    bool over = connection_has_ended(connection) || connection_at_stop(connection);

    return over ? 0 : connection->shared->pool.size;
}

static inline uint64_t role_next(const struct connection *connection)
{
    return connection->role->next ? connection->role->next(connection) : NEVER;
}

/* Returns true if the phase is over for a connection whose queue is idle after fill(). */
static inline bool role_is_over(const struct connection *connection)
{
    const struct role *role = connection->role;

    return role->over ? role->over(connection)
                      : role->wants(connection) == 0 && role_next(connection) == NEVER;
}
