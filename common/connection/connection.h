/* SPDX-License-Identifier: MIT */
/* A connection: where the five parts of docs/architecture.md meet. Only the engine blocks or polls.
 * It calls the workload to fill the queue, the strategy to push it, and the reading to receive
 * bytes. One thread owns a connection; members that other threads use are atomic. */
#pragma once

#include "base/calls.h"
#include "connection/send_queue.h"
#include "connection/thread_shared.h"
#include "plan/plan.h"

/* The states of a connection and their transitions: the table is lifecycle.def. */
#define STATE(name, text) STATE_##name,
#define EVENT(name, text)
#define NEXT(state, event, next)
enum state {
#include "connection/lifecycle.def"
    STATE_COUNT
};
#undef STATE
#undef EVENT

#define STATE(name, text)
#define EVENT(name, text) EVENT_##name,
enum event {
#include "connection/lifecycle.def"
    EVENT_COUNT
};
#undef STATE
#undef EVENT
#undef NEXT

/* The state that follows `event` in `state`; STATE_COUNT if the event cannot happen there. */
enum state lifecycle_next(enum state state, enum event event);

/* The same, but an event that cannot happen aborts a debug build; others go to STATE_FAILED. */
void lifecycle_advance(enum state *state, enum event event);

/* Received bytes and messages. The counters are cumulative since the connection began. */
struct arrivals {
    uint64_t bytes, messages;
    uint64_t partial;     /* bytes of the incomplete message */
    uint64_t first_ns;    /* when the first bytes of the interval arrived; 0: none have */
    uint64_t first_bytes; /* number of these bytes, which no rate counts */
    uint64_t last_ns;     /* when the last message was complete */
};

/* What a connection waits for before it can continue to send. */
enum awaits {
    AWAITS_NOTHING,
    AWAITS_ROOM, /* room in its socket buffer */
    AWAITS_EVENT /* a completion, lent memory, a handshake message, its next descriptor */
};

/* A send that completes later. It sends as much as it can of the group at the head. A connection
 * has one such send in flight, so that bytes stay in order. */
struct request {
    bool in_flight;
    bool silent;  /* success posts no completion: a reply of the peer proves it */
    size_t bytes; /* still to be sent */
};

struct send_request;

struct connection {
    const struct plan *plan;
    struct thread_shared *shared; /* of its thread */
    enum end end;
    enum end peer;           /* the end at the other side */
    bool reconnects;         /* copied from its workload */
    bool drives, follows;    /* a proxy follows on one side and drives on the other */
    uint64_t number;         /* among all connections of the plan */
    struct connection *twin; /* at a proxy: of the same number, to the other peer; else NULL */

    struct calls calls;
    const struct security *security;
    const struct layer *top; /* strategy and reading call this: the filter, or the transport */
    void *filter_state;      /* of the filter for this descriptor; NULL: there is none */

    /* A stream or a ring begins a send that completes later: strategy->completed() follows. Returns
     * 0 or a negative errno value. NULL: the transport is a socket. */
    int (*submit)(struct connection *connection, const struct send_request *request);
    void *transport_state; /* the stream, or the slot of the ring */

    enum state state;
    enum awaits awaits;
    _Atomic uint64_t handshake_ns;   /* its start; 0: no handshake runs; the stall watch reads it */
    const struct strategy *strategy; /* NULL on an end that only receives */
    const struct reading *reading;   /* NULL on an end that only sends */
    const struct role *role;
    struct framing *framing; /* if the protocol has heads, else NULL */
    struct loans *loans;     /* if the strategy lends memory, else NULL */
    void *strategy_state, *reading_state, *role_state;
    uint64_t strategy_parameter; /* or PARAMETER_NONE */
    int cork_layer;              /* CORK_RECORD or CORK_SEGMENT */
    uint64_t window;             /* plan_window() of its end */
    bool rearms_quickack;        /* quickack=rearm */
    struct digest *digest;       /* touch=checksum: of all that arrived; else NULL */
    bool examines;               /* the bytes that arrive, by connection_examine() */

    struct send_queue queue;
    struct request request;
    const struct shape *outgoing, *incoming; /* NULL on an end that does not send, receive */
    size_t source_position;
    struct arrivals arrivals;
    uint64_t groups;        /* appended by a proxy */
    uint64_t messages_left; /* to begin in this phase, by a driver; UINT64_MAX: timed work */

    _Atomic uint64_t stop; /* 1 + the received bytes at which a follower ends the phase; 0: unknown.
                              Control sets it, perhaps before this thread has begun */
    bool until_stop;       /* an end that drives and follows ends the phase only at the stop */
    uint32_t hello_left;   /* unsent bytes of the hello on a new descriptor */
};

/* Makes `connection` ready to run. The caller sets its number and descriptor, at a proxy also its
 * peer and twin, and zeroes the rest. The caller owns the descriptor. 0 or a negative errno value;
 * call connection_close() once in both cases. */
int connection_open(struct connection *connection, struct thread_shared *shared);
void connection_close(struct connection *connection);

/* Sets the problem of the thread: the peer sent what it must not send. Returns -EBADMSG. */
#define connection_refuse(connection, ...)                                                                   \
    (problem_failure(&(connection)->shared->problem, __VA_ARGS__), -EBADMSG)

/* Verifies and touches received bytes, as the plan says. 0, or -EBADMSG with the problem of the
 * thread. */
int connection_examine(struct connection *connection, const uint8_t *data, size_t size);

/* The kernel has returned the memory of the sends `first` to `last`. The 32-bit numbers wrap, so
 * `last` may be less than `first`. `copied`: the kernel copied the memory after all. */
void connection_returned(struct connection *connection, uint32_t first, uint32_t last, bool copied);

/* Call for each new descriptor, when no memory of the previous one is lent. The kernel numbers the
 * zero-copy sends of each socket from 0 on. */
void connection_restart_loans(struct connection *connection);

/* The rare parts of the functions below: a window of several messages, messages of several spans, a
 * clock that must be read again. */
uint64_t connection_room_of_window(const struct connection *connection);
void connection_append_all(struct connection *connection, uint64_t messages);
void connection_update_clock(struct thread_shared *shared);

/* The messages that may be appended at once: `window`, or fewer if the queue has less room. */
static inline uint64_t connection_room(const struct connection *connection)
{
    return connection->window == 1 ? queue_has_room(&connection->queue, connection->outgoing->span_count)
                                   : connection_room_of_window(connection);
}

/* For connection_append(): the next bytes of the source, as `part` of a message, with `marks`. */
static inline void connection_append_span(struct connection *connection, const struct shape_span *part,
                                          uint32_t marks)
{
    const struct source *source = &connection->shared->source;
    struct span *span = queue_append(&connection->queue);
    span->data = source_take(source, &connection->source_position, part->bytes);
    span->size = part->bytes;
    span->marks = marks;
    if (UNLIKELY(marks & SPAN_OF_MANY)) {
        span->fragment = part->size;
        span->repeats = !source->period;
    }
}

/* Appends messages of the outgoing shape from the source, at most connection_room(). They are due
 * together: the last group of one message and the first of the next become one group. */
static inline void connection_append(struct connection *connection, uint64_t messages)
{
    const struct shape *shape = connection->outgoing;
    if (LIKELY(messages == 1 && shape->span_count == 1))
        connection_append_span(connection, shape->spans, shape->spans->marks);
    else
        connection_append_all(connection, messages);
}

/* Returns true while a driver may begin another message in this phase, and counts it as begun. With
 * `read_clock` it reads the clock only once for several messages, the more the faster they are.
 * Without, the time is shared->now_ns. */
static inline bool connection_may_begin(struct connection *connection, bool read_clock)
{
    struct thread_shared *shared = connection->shared;
    if (!connection->messages_left)
        return false;
    if (read_clock && shared->deadline_ns != UINT64_MAX && ++shared->unchecked >= shared->stride)
        connection_update_clock(shared);
    if (shared->now_ns >= shared->deadline_ns)
        return false;
    connection->messages_left--;
    return true;
}

/* Returns true if the handshake is done and the connection has not failed. */
static inline bool connection_is_open(const struct connection *connection)
{
    return connection->state >= STATE_ESTABLISHED && connection->state < STATE_FAILED;
}

/* Returns true if the peer has half-closed. */
static inline bool connection_has_ended(const struct connection *connection)
{
    return connection->state == STATE_HALF_CLOSED_REMOTE || connection->state == STATE_CLOSED;
}

/* Returns true if this end has half-closed. */
static inline bool connection_has_half_closed(const struct connection *connection)
{
    return connection->state == STATE_HALF_CLOSED_LOCAL || connection->state == STATE_CLOSED;
}

/* Returns true if a follower has received all bytes of this phase. */
static inline bool connection_at_stop(const struct connection *connection)
{
    uint64_t stop = atomic_load_explicit(&connection->stop, memory_order_acquire);
    return stop && connection->arrivals.bytes + 1 == stop;
}

/* Returns true while a driver may begin messages in this phase. The time is shared->now_ns. */
static inline bool connection_phase_lasts(const struct connection *connection)
{
    return connection->messages_left && connection->shared->now_ns < connection->shared->deadline_ns;
}
