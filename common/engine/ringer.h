/* SPDX-License-Identifier: MIT */
/*
 * The state of the ring engine. ring.c makes requests and waits, ring_events.c handles completions,
 * ring_reconnect.c opens and closes the descriptors of connections that reconnect.
 */
#ifndef UNCORK_ENGINE_RINGER_H
#define UNCORK_ENGINE_RINGER_H

#include "connection/reading.h"
#include "engine/acceptor.h"
#include "engine/turns.h"
#include "ring/intake.h"

struct watch {
    struct turn turn; /* first */
    struct ring_slot slot;
    unsigned outstanding; /* requests of the engine on its descriptor: bits of enum ring_kind */
    bool reclaimed;       /* the last completion of a poll request brought lent memory back */
    bool starved;         /* on the list of connections that found no buffer to receive into */
    struct watch *next_starved;
};

struct ringer {
    struct turns turns; /* first */
    struct ring *ring;
    struct ring_intake intake;
    struct watch *watches, *starved;
    struct acceptor acceptor; /* of a follower that reconnects */
    struct ring_slot listener, pending;
};

static inline struct watch *watch_of(struct turn *turn)
{
    return (struct watch *)turn;
}

static inline struct ringer *ringer_of(const struct watch *watch)
{
    return (struct ringer *)watch->turn.turns;
}

static inline bool reads_by_ring(const struct connection *connection)
{
    return connection->reading && connection->reading->completed;
}

static inline bool ring_is_outstanding(const struct watch *watch, enum ring_kind kind)
{
    return watch->outstanding & 1u << kind;
}

/* ---- ring_layer.c ---- */

/* The transport of connections on a ring. Its state is their slot. */
extern const struct layer layer_ring;

/* ---- ring.c ---- */

/* Re-arm: makes the requests that the connection needs and that are not outstanding. */
void ring_rearm(struct turn *turn);

/* ---- ring_events.c ---- */

/* Handles a completion. */
void ring_dispatch(struct ringer *ringer, struct ring_event *event);

/* on->take() of the turns. */
void ring_take(struct turn *turn);

/* If the received bytes prove that the other end has received all, reports that to the strategy. */
void ring_on_answer(struct watch *watch);

/* ---- ring_reconnect.c ---- */

/* Begins to connect the next descriptor of a driver. -EINPROGRESS or another negative errno
 * value. */
int ring_begin_connect(struct duty *duty, struct connection *connection);
void ring_connected(struct watch *watch, int result);

/* Assigns `next_fd` to a follower. 0, or a negative errno value, which ends the phase. */
int ring_assign(struct watch *watch);

/* Cancels all requests and closes the descriptor. The socket stays open until they complete. */
void ring_close_descriptor(struct turn *turn);

/* A request on a closed descriptor has completed: after the last one the connection continues. */
void ring_release(struct watch *watch);

/* on->assigned() of the turns. */
void ring_assigned(struct turn *turn);

/* Begins to accept. 0 or a negative errno value; acceptor_close() it in both cases. */
int ring_open_acceptor(struct ringer *ringer);

/* A completion of the listener, or of the descriptors with an incomplete hello. */
void ring_on_acceptor(struct ringer *ringer, const struct ring_event *event);

#endif
