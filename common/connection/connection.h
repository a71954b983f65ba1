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
#include "connection/send_queue.h"
#include "connection/source.h"
#include "measure/histogram.h"
#include "measure/samples.h"
#include "plan/plan.h"

#include <stdatomic.h>

/* How much a driver may still begin in this phase. */
struct budget {
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; UINT64_MAX for fixed work */
    uint64_t messages;    /* left; UINT64_MAX for timed work */
    uint32_t unchecked;   /* messages begun since the clock was last compared with the deadline */
    uint32_t stride;      /* messages to begin between two comparisons */
};

/* What came in. Cumulative since the connection began, but for the two moments. */
struct arrivals {
    uint64_t bytes, messages;
    uint64_t partial;     /* bytes of the message that is not whole yet */
    uint64_t first_ns;    /* when the first bytes since connection_restart_arrivals() came, 0 before */
    uint64_t first_bytes; /* how many they were: they came before the interval that they began */
    uint64_t last_ns;     /* when the last whole message was complete */
    uint64_t checksum;    /* of touch=checksum */
};

struct connection {
    const struct plan *plan;
    enum end end;
    bool drives;

    struct calls calls;
    const struct security *security;
    const struct strategy *strategy; /* NULL on an end that only receives */
    const struct reading *reading;   /* NULL on an end that only sends */
    const struct half *half;
    void *strategy_state, *half_state;
    uint64_t strategy_parameter; /* PARAMETER_NONE where none was given */

    struct send_queue queue;
    struct source source;
    const struct shape *outgoing, *incoming; /* NULL on an end that does not send, receive */

    uint8_t *chunk; /* receive buffer of chunk_size bytes */
    size_t chunk_size;
    struct arrivals arrivals;
    struct budget budget;
    uint64_t now_ns; /* the data thread's last look at the clock */

    struct histogram *latency; /* of the thread; NULL where this end times nothing */
    struct samples *samples;   /* of the thread */

    _Atomic uint64_t
        stop_bytes;         /* a follower leaves the phase when it has received so many; set by control */
    bool ended;             /* the peer has half-closed */
    struct problem problem; /* why the engine came back with an error */
};

/* Makes `connection`, which must be zeroed but for its descriptor, ready to run on `fd` (-1 for none) by what
 * the plan says of this end. 0 or -ENOMEM. The descriptor stays the caller's. */
int connection_open(struct connection *connection, const struct plan *plan, enum end end, int fd);
void connection_close(struct connection *connection);

/* Bytes that this end has received are counted from here on: the next are the first. */
void connection_restart_arrivals(struct connection *connection);

/* Counts `size` bytes that arrived, verifies and touches them as the plan says (`data` is NULL where the
 * reading delivers none) and reads the clock if a message became whole. Returns the number of messages that
 * became whole, or -EBADMSG with connection->problem. */
int64_t connection_receive(struct connection *connection, const uint8_t *data, size_t size);

/* Appends one message of the outgoing shape from the source; there must be room. */
void connection_append_message(struct connection *connection);

/* True while a driver may begin another message; counts it as begun. Reads the clock as seldom as the pace
 * of the messages allows (`read_clock`), or takes connection->now_ns as fresh. */
bool connection_may_begin(struct connection *connection, bool read_clock);

/* Restarts the budget of a phase. */
void connection_set_budget(struct connection *connection, uint64_t deadline_ns, uint64_t messages);

#endif
