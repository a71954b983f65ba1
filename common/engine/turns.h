/* SPDX-License-Identifier: MIT */
/*
 * Turns among the connections of one thread: who has more to send, who is due, who is out of the phase.
 *
 * The part of an engine for any number of connections that does not depend on what it waits in. The engine
 * tells what came of a connection; here is decided what follows from it.
 */
#ifndef UNCORK_ENGINE_TURNS_H
#define UNCORK_ENGINE_TURNS_H

#include "engine/agenda.h"
#include "engine/engine.h"

struct turns;

/* One connection's. */
struct turn {
    struct turns *turns;
    struct connection *connection;
    struct turn *twin; /* of a proxy: sends on what arrives here; NULL elsewhere */
    bool over;         /* out of the phase */
    bool busy;         /* on the list of those that have more to send */
    bool scheduled;    /* on the agenda */
    struct turn *next_busy;
};

struct turns_events {
    /* One call of the strategy, on a descriptor that may first have to be had. As strategy->push(), or
     * -EBUSY: to be tried again in the next turn. */
    int (*push)(struct turn *turn);

    /* Takes what its layer has and its descriptor does not show, as when that shows something. */
    void (*take)(struct turn *turn);

    /* Nothing is left to send now. NULL: nothing to do. */
    void (*rests)(struct turn *turn);

    /* What it is to be told of may have changed. */
    void (*stepped)(struct turn *turn);

    /* Waits for what comes next, not beyond turns_next(), and not at all where somebody is busy. */
    void (*wait)(struct turns *turns);
};

struct turns {
    struct duty *duty;
    const struct turns_events *on;
    struct turn **list;             /* by number of the connection in the thread */
    size_t open;                    /* connections that are not out of the phase */
    struct turn *busy, **last_busy; /* have used up their turn */
    struct agenda agenda;           /* of an open loop */
    bool finishing;                 /* half-closed: waiting for the other end's */
    int result;                     /* of the phase */
};

/* 0 or -ENOMEM; turns_close() it in both cases. */
int turns_open(struct turns *turns, struct duty *duty, const struct turns_events *events);
void turns_close(struct turns *turns);

/* Connection number `index` of the thread has this turn. After all have joined, turns_pair(). */
void turns_join(struct turns *turns, size_t index, struct turn *turn);
void turns_pair(struct turns *turns);

/* engine->run() and engine->finish() of an engine whose state begins with its turns. */
int turns_run(struct duty *duty);
int turns_finish(struct duty *duty);

/* The thread was woken: looks at everybody again, unless it was cancelled. It may have been for a phase that
 * is over; after the half-close nothing is begun. */
void turns_wake(struct turns *turns);

/* When the next is due, CLOCK_MONOTONIC; NEVER. */
uint64_t turns_next(const struct turns *turns);

/* Sends what is due, as far as it goes now. */
void turn_step(struct turn *turn);

/* Something came of the connection: 0, -EAGAIN, or a negative errno value that ends everything. */
void turn_go_on(struct turn *turn, int result);

/* Goes on with it when all that came together was taken. */
void turn_later(struct turn *turn);

/* The same after the half-close: 1 for the other end's. */
void turn_go_on_to_end(struct turn *turn, int result);

/* Half-closes, as far as there is room: to be called again when there is more while turn_is_half_closing().
 */
void turn_half_close(struct turn *turn);
bool turn_is_half_closing(const struct turn *turn);

/* Something arrived: the twin sends it on when all that has come together was taken. */
void turn_relay(struct turn *turn);

void turn_stop(struct turn *turn, int result);

#endif
