/* SPDX-License-Identifier: MIT */
/*
 * Turns among the connections of one thread: who has more to send, who is due, who is out of the phase.
 *
 * The part of an engine for any number of connections that does not depend on what it waits in.
 */
#ifndef UNCORK_ENGINE_TURNS_H
#define UNCORK_ENGINE_TURNS_H

#include "engine/agenda.h"
#include "engine/engine.h"

/* One connection's. */
struct turn {
    struct turns *turns;
    struct connection *connection;
    bool blocked;   /* its strategy waits: for room, or for a completion */
    bool over;      /* out of the phase */
    bool busy;      /* on the list of those that have more to send */
    bool scheduled; /* on the agenda */
    struct turn *next_busy;
};

struct turns_events {
    /* One call of the strategy, on a descriptor that may first have to be had. As strategy->push(), and
     * -EBUSY where there is none yet: tried again in the next turn. */
    int (*push)(struct turn *turn);

    /* Nothing is left to send now. True where the connection is occupied otherwise. NULL: nothing to do. */
    bool (*rests)(struct turn *turn);

    /* What it waits for may have changed. */
    void (*stepped)(struct turn *turn);
};

struct turns {
    struct duty *duty;
    const struct turns_events *on;
    size_t open;                    /* connections that are not out of the phase */
    struct turn *busy, **last_busy; /* have used up their turn */
    struct agenda agenda;           /* of an open loop */
    bool finishing;                 /* half-closed: waiting for the other end's */
    int result;                     /* of the phase */
};

/* 0 or -ENOMEM. */
int turns_open(struct turns *turns, struct duty *duty, const struct turns_events *events);
void turns_close(struct turns *turns);

/* A phase begins, or what follows the half-close: all connections are in it. */
void turns_begin(struct turns *turns);

/* Sends what is due, as far as it goes now. */
void turn_push(struct turn *turn);
void turn_step(struct turn *turn); /* and then tells that it has */

/* Something came of the connection, of which `result` did: 0, -EAGAIN, or the end of everything. */
void turn_go_on(struct turn *turn, int result);

/* The same after the half-close: 1 for the other end's. */
void turn_go_on_to_end(struct turn *turn, int result);

void turn_leave(struct turn *turn);
void turn_stop(struct turn *turn, int result);

/* Those that have used up their turn get another; those that are due get theirs. */
void turns_run_busy(struct turns *turns);
void turns_run_due(struct turns *turns);

/* When the next is due, CLOCK_MONOTONIC; NEVER. */
uint64_t turns_next(const struct turns *turns);

#endif
