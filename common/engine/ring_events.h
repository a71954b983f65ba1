/* SPDX-License-Identifier: MIT */
/* The state of the ring engine: ring.c requests, ring_events.c waits. */
#pragma once

#include "engine/event_loop.h"
#include "ring/ring.h"

struct watch {
    struct task task; /* first */
    struct ring_slot slot;
    unsigned outstanding; /* requests of the engine on the descriptor: bits 1 << enum ring_kind */
    bool starved;         /* on the list of connections that had no buffer to receive into */
    struct watch *next_starved;
};

struct ring_engine {
    struct event_loop loop; /* first */
    struct ring *ring;
    struct recv_buffers recv_buffers;
    struct watch *starved;
    struct ring_slot accepting[2]; /* the descriptors of the acceptor */
};

static inline struct watch *watch_of(struct task *task)
{
    return (struct watch *)task;
}

static inline bool reads_by_ring(const struct connection *connection)
{
    return connection->reading && !connection->reading->read;
}

static inline bool ring_is_outstanding(const struct watch *watch, enum ring_kind kind)
{
    return watch->outstanding & 1u << kind;
}

/* wait() of the engine: waits in the ring, and handles the completions that have come. */
void ring_wait(struct event_loop *loop);
