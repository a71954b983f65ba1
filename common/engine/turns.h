/* SPDX-License-Identifier: MIT */
/* The scheduler of one thread's connections: which has more to send, is due, or has finished the
 * phase.
 *
 * It does not depend on the call in which an engine waits. The engine reports the result of an
 * event; the scheduler decides what the connection does next. */
#pragma once

#include "engine/timers.h"
#include "engine/engine.h"

struct turns;

struct turn {
    struct turns *turns;
    struct connection *connection;
    struct turn *twin; /* of a proxy: relays the bytes that arrive here; else NULL */
    bool over;         /* has finished the phase */
    bool busy;         /* on the busy list */
    bool scheduled;    /* on the timers */
    int next_fd;       /* accepted while it still has a descriptor; -1: none */
    struct turn *next_busy;
};

struct turns_events {
    /* Connects the next descriptor of a driver that reconnects. 0, or as strategy_push(). */
    int (*connect)(struct turn *turn);

    /* Calls strategy_push(), and returns as it does. NULL: nothing else is to be done. */
    int (*push)(struct turn *turn);

    /* Receives the bytes that the security layer or the reading has buffered, and returns as
     * engine_on_data(). */
    int (*take)(struct connection *connection);

    /* The connection has an accepted descriptor: begins to receive from it. NULL: the engine
     * accepts no connections. */
    void (*accepted)(struct turn *turn);

    /* The descriptor of a connection that reconnects will be closed: stops to watch it. True if
     * that takes until turn_released(). NULL: nothing watches it. */
    bool (*forget)(struct turn *turn);

    /* Re-arm: the set of wanted events may have changed. */
    void (*rearm)(struct turn *turn);

    /* Waits for the next event, until turns_next() at most. Does not wait if a connection
     * is busy. */
    void (*wait)(struct turns *turns);
};

struct turns {
    struct engine_job *job;
    const struct turns_events *on;
    void *watches;                  /* of the engine, one for each connection, zeroed at first */
    struct turn **list;             /* by number of the connection in the thread */
    size_t open;                    /* connections that have not finished the phase */
    struct turn *busy, **last_busy; /* have more to do in the next turn */
    struct timers timers;           /* of an open loop */
    bool finishing;                 /* has half-closed; waits for the peer's half-close */
    int result;                     /* of the phase */
};

/* Allocates the state of the engine, `state_size` zeroed bytes that begin with the turns, and
 * watches of `size` bytes, each with its turn at `offset`. Returns the state. */
void *turns_open(struct engine_job *job, const struct turns_events *events, size_t state_size, size_t size,
                 size_t offset);

/* engine->close(), run() and finish() on that state. */
void turns_close(struct engine_job *job);
int turns_run(struct engine_job *job);
int turns_finish(struct engine_job *job);

/* The thread was woken: checks every connection, unless the thread is cancelled. The wake-up may
 * belong to a phase that is over. After the half-close no message begins. */
void turns_wake(struct turns *turns);

/* When the next start is due, CLOCK_MONOTONIC; NEVER if none is. */
static inline uint64_t turns_next(const struct turns *turns)
{
    return timers_next(&turns->timers);
}

/* Sends the messages that are due, without waiting. */
void turn_step(struct turn *turn);

/* The driver has connected again: its follower takes `fd` as soon as it has no other descriptor. */
void turn_accepted(struct turn *turn, int fd);

/* Nothing watches the closed descriptor any more: see forget(). */
void turn_released(struct turn *turn);

/* Bytes arrived, with this result: the twin relays them; as turn_continue() or, after the
 * half-close, turn_continue_end(). */
void turn_received(struct turn *turn, int result);

/* As turn_received(), but the connection continues after the present batch of events. */
void turn_received_of_many(struct turn *turn, int result);

/* As engine_reclaim(), and ends a wait for lent memory. */
int turn_reclaim(struct turn *turn);

/* Handles the result of an event: 0, -EAGAIN, or a negative errno value that ends the run. */
void turn_continue(struct turn *turn, int result);

/* As turn_continue(), after the half-close: `result` is 1 when the peer has half-closed. */
void turn_continue_end(struct turn *turn, int result);

/* Half-closes. If the socket is full, call it again when it is writable, while
 * turn_is_half_closing(). */
void turn_half_close(struct turn *turn);
bool turn_is_half_closing(const struct turn *turn);
