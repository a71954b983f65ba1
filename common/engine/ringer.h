/* SPDX-License-Identifier: MIT */
/*
 * What the ring engine has of each connection, for its three files: ring.c requests events and waits for
 * them, ring_events.c does what follows from them, ring_reconnect.c has the descriptors that come and go.
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
    bool reclaimed;       /* what was told last has brought lent memory back */
    bool starved;         /* on the list of those that found no buffer to receive into */
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

/* The transport of these connections; its state is their slot. */
extern const struct layer layer_ring;

/* ---- ring.c ---- */

/* Requests the events that the connection waits for, as far as they are not requested. */
void ring_rearm(struct turn *turn);

/* ---- ring_events.c ---- */

/* Does what follows from a completion. */
void ring_dispatch(struct ringer *ringer, struct ring_event *event);

/* Takes bytes that the connection's layer has and its descriptor does not show. */
void ring_take(struct turn *turn);

/* What has arrived may prove that everything that was sent has been taken. */
void ring_on_answer(struct watch *watch);

/* ---- ring_reconnect.c ---- */

/* Begins to connect a driver's next descriptor: -EINPROGRESS, or another negative errno value. */
int ring_begin_connect(struct duty *duty, struct connection *connection);
void ring_connected(struct watch *watch, int result);

/* Gives a follower its next descriptor. 0, or a negative errno value, which ends the phase. */
int ring_assign(struct watch *watch);

/* Closes the descriptor. The requests on it hold the socket open: it ends when they do. */
void ring_close_descriptor(struct turn *turn);

/* A request on a closed descriptor is over. */
void ring_release(struct watch *watch);

/* on->assigned() of the turns. */
void ring_assigned(struct turn *turn);

/* Begins to accept. 0 or a negative errno value; acceptor_close() it in both cases. */
int ring_open_acceptor(struct ringer *ringer);

/* A completion of the listener, or of the descriptors that wait for their hello. */
void ring_on_acceptor(struct ringer *ringer, const struct ring_event *event);

#endif
