/* SPDX-License-Identifier: MIT */
/*
 * A connection: where the five parts meet, each replaceable without the others knowing.
 *
 *   workload ──appends──▶ send queue ──▶ strategy ──▶ security ──▶ counted calls ──▶ kernel
 *      ▲                                                                               │
 *      └──────────────── these bytes arrived ◀── reading ◀── security ◀── counted calls ◀┘
 *
 * The engine owns the waiting: it asks the workload to fill the queue, the strategy to push it and the
 * reading to take bytes out, and is the only one that blocks or polls. One thread owns a connection; what
 * other threads may look at is atomic and says so.
 */
#ifndef UNCORK_CONNECTION_CONNECTION_H
#define UNCORK_CONNECTION_CONNECTION_H

#include "base/calls.h"
#include "base/problem.h"
#include "connection/lifecycle.h"
#include "connection/send_queue.h"
#include "connection/workbench.h"
#include "plan/plan.h"

#include <stdatomic.h>

/* What came in. Cumulative since the connection began, but for the two moments. */
struct arrivals {
    uint64_t bytes, messages;
    uint64_t partial;     /* bytes of the message that is not whole yet */
    uint64_t first_ns;    /* when the first bytes since connection_restart_arrivals() came, 0 before */
    uint64_t first_bytes; /* how many they were: they came before the interval that they began */
    uint64_t last_ns;     /* when the last whole message was complete */
};

/* What a connection waits for before it can send on. */
enum awaits {
    AWAITS_NOTHING,
    AWAITS_ROOM, /* its descriptor is full */
    AWAITS_EVENT /* a completion, memory, its peer's part of a handshake, its next descriptor */
};

struct connection {
    const struct plan *plan;
    struct workbench *bench; /* what it shares with the others of its thread */
    enum end end;
    enum end peer;        /* the end at its other side */
    bool drives, follows; /* the peer follows, drives; a proxy follows on one side and drives on the other */
    uint64_t number;      /* among all connections of the plan */
    struct connection *twin; /* a proxy's: of the same number, with its other peer. NULL elsewhere */

    struct calls calls;
    const struct security *security;
    const struct layer *top;    /* that strategy and reading call: the filter, or the transport */
    const struct layer *bottom; /* the transport: its socket, a stream, a ring */
    void *filter_state;         /* of the filter for its descriptor; NULL: there is none */
    void *bottom_state;         /* of the transport */
    enum state state;
    enum awaits awaits;
    _Atomic uint64_t handshake_ns;   /* start, 0: none; the stall watch reads it */
    const struct strategy *strategy; /* NULL on an end that only receives */
    const struct reading *reading;   /* NULL on an end that only sends */
    const struct role *role;
    struct loans *loans; /* of a strategy that lends memory; NULL elsewhere */
    void *strategy_state, *reading_state, *role_state;
    uint64_t strategy_parameter; /* PARAMETER_NONE where none was given */
    int cork_layer;              /* CORK_RECORD or CORK_SEGMENT */
    uint64_t window;             /* plan_window() of its end */
    bool rearms_quickack;        /* quickack=rearm */
    struct digest *digest;       /* of touch=checksum: of all that arrived; NULL: it is not asked for */

    struct send_queue queue;
    const struct shape *outgoing, *incoming; /* NULL on an end that does not send, receive */
    size_t source_position;
    struct arrivals arrivals;
    uint64_t groups;        /* that a proxy has appended */
    uint64_t messages_left; /* that a driver may begin in this phase; UINT64_MAX for timed work */

    _Atomic uint64_t stop; /* one more than the bytes at which a follower leaves the phase; 0: not told yet.
                              Set  by control, which may be before this thread has begun */
    bool until_stop;       /* where an end drives and follows: the phase ends at the stop, not before */
    uint32_t hello_left;   /* bytes of the hello that a new descriptor has not been given */
};

/* Makes `connection`, which must be zeroed but for its descriptor and its number (and at a proxy
 * its peer and its twin), ready to run on `fd` (-1: the one it has, or none) as connection `number`
 * of the run. 0 or a negative errno value; connection_close() it in both cases. The descriptor
 * stays the caller's. */
int connection_open(struct connection *connection, struct workbench *bench, uint64_t number, int fd);
void connection_close(struct connection *connection);

/* Bytes that this end has received are counted from here on: the next are the first. */
void connection_restart_arrivals(struct connection *connection);

/* Counts `size` bytes that arrived, verifies and touches them as the plan says (`data` is NULL
 * where the reading delivers none) and reads the clock if a message became whole. Returns the
 * number of messages that became whole, or -EBADMSG with the problem of the workbench. */
int64_t connection_receive(struct connection *connection, const uint8_t *data, size_t size);

/* The memory of the sends with these numbers has come back: all from `first` to `last`, of which
 * `last` is less where the 32-bit number has wrapped. `copied`: the kernel copied it after all. */
void connection_returned(struct connection *connection, uint32_t first, uint32_t last, bool copied);

/* The connection has its next descriptor, and no memory of the last is lent: the kernel numbers the
 * zero-copy sends of each socket from 0 on. */
void connection_restart_loans(struct connection *connection);

/* How many messages may be appended in one go: `window` as far as there is room in the queue. */
uint64_t connection_room(const struct connection *connection);

/* Appends messages of the outgoing shape from the source, as many as connection_room() says at
 * most. They are due together: the last group of each and the first of the next are one. */
void connection_append(struct connection *connection, uint64_t messages);

/* True while a driver may begin another message in this phase; counts it as begun. Reads the clock
 * as seldom as the pace of the messages allows (`read_clock`), or takes that of the workbench as
 * fresh. */
bool connection_may_begin(struct connection *connection, bool read_clock);

/* Whether the next bytes from the peer prove that it received the present message: neither end
 * sends before it has the reply. A follower at its stop gets no reply in this phase. */
bool connection_is_answered(const struct connection *connection);

/* It has a descriptor, a layer that has finished its handshake, and has not failed. */
static inline bool connection_is_open(const struct connection *connection)
{
    return connection->state >= STATE_ESTABLISHED && connection->state < STATE_FAILED;
}

/* Its peer has half-closed. */
static inline bool connection_has_ended(const struct connection *connection)
{
    return connection->state == STATE_HALF_CLOSED_REMOTE || connection->state == STATE_CLOSED;
}

/* It has half-closed. */
static inline bool connection_has_half_closed(const struct connection *connection)
{
    return connection->state == STATE_HALF_CLOSED_LOCAL || connection->state == STATE_CLOSED;
}

/* A follower has received all that it was to in this phase. */
static inline bool connection_at_stop(const struct connection *connection)
{
    uint64_t stop = atomic_load_explicit(&connection->stop, memory_order_acquire);

    return stop && connection->arrivals.bytes + 1 == stop;
}

/* True while a driver has not come to the end of its phase, by the last look at the clock. */
static inline bool connection_goes_on(const struct connection *connection)
{
    return connection->messages_left && connection->bench->now_ns < connection->bench->deadline_ns;
}

#endif
