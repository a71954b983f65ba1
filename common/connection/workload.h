/* SPDX-License-Identifier: MIT */
/* A workload is a small state machine with both roles in one file. It decides when a message is
 * due, when a reply is complete, and what is timed. The engine calls its roles; a role never blocks
 * and makes no system call.
 *
 * - The *driver* sends `message` and decides when work begins and ends.
 * - The *follower* receives it, and sends the replies, if there are any. In `direction=both` each
 *   end does both.
 * - The *proxy* is between the two and forwards what it receives. It follows the driver.
 * - The *taker* receives from a foreign peer that sends forever, and decides when to stop. */
#pragma once

#include "base/axis.h"
#include "base/clock.h"
#include "connection/connection.h"

enum role_index { ROLE_DRIVER, ROLE_FOLLOWER, ROLE_BOTH, ROLE_TAKER, ROLE_PROXY, ROLE_COUNT };

#define NEVER UINT64_MAX

struct role {
    bool receives; /* uses connection->incoming */
    bool clocks;   /* reads the clock when a message is complete */
    bool times;    /* receives replies and records their latency; needs `clocks` */
    bool answers;  /* at a depth of 1, bytes that arrive prove that the peer received all messages;
                      at a driver, only a whole reply does: an echo server begins it before */

    /* The most receive buffers that the two connections of a pair own. After arrived(), the bytes
     * stay in their buffer until released() returns it. NULL: the role owns no buffers. */
    size_t (*relay_buffers)(const struct plan *plan);

    /* Bytes of connection->role_state: state_size, plus slot_size for each of plan_slots(). */
    size_t state_size, slot_size;

    /* A phase begins: the deadline of the thread and messages_left bound its length. NULL: nothing
     * to prepare. */
    void (*begin)(struct connection *connection);

    /* Appends the messages that are due to the queue: at most connection_room(). NULL: the role
     * sends none, and has no connection->outgoing. */
    void (*fill)(struct connection *connection);

    /* The number of bytes that the role accepts now. */
    size_t (*wants)(const struct connection *connection);

    /* Returns true if there is room to begin a multishot receive. NULL: always. */
    bool (*has_room)(const struct connection *connection);

    /* Handles bytes that arrived (`data` is NULL if the reading does not deliver). 0, or -EBADMSG
     * with the problem of the thread. */
    int (*arrived)(struct connection *connection, const uint8_t *data, size_t size);

    /* The queue released a span; the calls come in order. NULL: the role owns no memory. */
    void (*released)(void *connection, const struct span *span);

    /* The time (CLOCK_MONOTONIC) at which fill() has the next message. NEVER: only after bytes
     * arrive. NULL: NEVER. */
    uint64_t (*next)(const struct connection *connection);

    /* Called when the queue is idle: returns true if the phase is over for the connection. NULL:
     * the phase is over when the role wants no bytes and fill() will have no message. */
    bool (*over)(const struct connection *connection);

    /* Bytes of the next `count` messages to send. NULL: all have the outgoing shape. */
    uint64_t (*bytes_of)(const struct connection *connection, uint64_t count);

    /* Number of messages that were due in this phase and not begun. NULL: there is no schedule. */
    uint64_t (*missed)(const struct connection *connection);
};

struct workload {
    struct variant variant;
    bool runs_command;                     /* the client runs a program, and has no connections */
    bool reconnects;                       /* a new descriptor for every message */
    bool has_direction;                    /* `direction` decides which end drives; else the client does */
    const struct role *roles[ROLE_COUNT];  /* NULL: the workload has no such role */
    const struct role *framed[ROLE_COUNT]; /* the roles if a protocol has heads; all NULL: none may */
};

extern const struct axis workload_axis; /* workload/list.def */

/* The role of an end under this plan. */
enum role_index workload_role(const struct plan *plan, enum end end);

/* Counts `size` received bytes and the messages that they complete, at shared->now_ns. */
static inline void connection_count_bytes(struct connection *connection, size_t size, uint64_t messages)
{
    struct arrivals *arrivals = &connection->arrivals;
    struct thread_shared *shared = connection->shared;

    arrivals->bytes += size;
    arrivals->messages += messages;
    samples_count(&shared->samples, messages, size);
    if (!connection->role->clocks || (!messages && arrivals->first_ns))
        return;
    if (UNLIKELY(!arrivals->first_ns)) {
        arrivals->first_ns = shared->now_ns;
        arrivals->first_bytes = size;
    }
    arrivals->last_ns = shared->now_ns;
    if (messages)
        samples_reached(&shared->samples, shared->now_ns);
}

/* Counts `size` received bytes and the messages that they complete; examines them as the plan says.
 * `data` is NULL if the reading discards them. Reads the clock if a message is complete. 0, or
 * -EBADMSG with the problem of the thread. */
static inline int connection_process_bytes(struct connection *connection, const uint8_t *data, size_t size)
{
    struct arrivals *arrivals = &connection->arrivals;
    uint64_t bytes = connection->incoming->bytes, whole = 0;

    if (UNLIKELY(connection->examines) && data && connection_examine(connection, data, size) < 0)
        return -EBADMSG;
    arrivals->partial += size;
    if (LIKELY(arrivals->partial == bytes)) { /* most often, and without a division */
        whole = 1;
        arrivals->partial = 0;
    } else if (arrivals->partial > bytes) {
        whole = arrivals->partial / bytes;
        arrivals->partial %= bytes;
    }
    if (connection->role->clocks && (whole || !arrivals->first_ns))
        connection->shared->now_ns = clock_now_ns();
    connection_count_bytes(connection, size, whole);
    return 0;
}

/* wants() of a role that receives until its peer has half-closed, or until its stop. */
HOT static inline size_t role_wants_all(const struct connection *connection)
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
