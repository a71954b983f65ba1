/* SPDX-License-Identifier: MIT */
/* The event loop of one thread: the same code for all engines. Each connection is a task. The
 * engine reports the result of each event; the loop decides what the task does next. */
#pragma once

#include "engine/engine.h"

#include <sys/queue.h>

struct task {
    struct event_loop *loop;
    struct connection *connection;
    struct task *twin;        /* of a proxy: relays the bytes that arrive here; else NULL */
    bool over;                /* has finished the phase */
    bool ready;               /* is on the ready list */
    bool has_timer;           /* is among the timers */
    int next_fd;              /* accepted before the previous descriptor was closed; -1: none */
    TAILQ_ENTRY(task) others; /* on the ready list */
};

/* Timers: a binary heap, the earliest first. */
struct timers {
    struct timer {
        uint64_t due_ns;
        void *item;
    } * list; /* has room for all timers; of the owner */
    size_t count;
};

/* The heap must not be full. */
void timers_add(struct timers *timers, uint64_t due_ns, void *item);

/* Removes the earliest timer and returns its item if it is due at `now_ns`, else returns NULL. */
void *timers_take(struct timers *timers, uint64_t now_ns);

/* When the earliest timer is due; NEVER if there is none. */
static inline uint64_t timers_next(const struct timers *timers)
{
    return timers->count ? timers->list[0].due_ns : NEVER;
}

/* Of a follower that reconnects: the data thread accepts, and the hello names the connection. */
struct acceptor {
    struct hello_acceptor hellos;
    uv_loop_t uv_loop; /* of the incomplete hellos */
    int fds[2];        /* the engine watches them: the listener, and the backend of `uv_loop` */
    size_t count;      /* of `fds`; 0: no follower reconnects */
};

struct event_loop {
    struct engine_job *job;
    const struct engine *engine;
    void *watches; /* of the engine, one for each connection; each begins with the task */
    size_t watch_size;
    size_t unfinished;        /* tasks that have not finished the phase */
    TAILQ_HEAD(, task) ready; /* list of tasks that continue without an event */
    struct timers timers;     /* of an open loop */
    bool changed;             /* since the last wait a send was submitted, or watches changed */
    int result;               /* of the phase */
    struct acceptor acceptor;
};

/* Allocates `state_size` zeroed bytes that begin with the event loop, and behind them `watch_size`
 * bytes for each connection: sizes of structs with pointers. NULL if memory is exhausted. Close is
 * the close() of an engine whose state owns nothing else. */
void *event_loop_open(struct engine_job *job, size_t state_size, size_t watch_size);
void event_loop_close(struct engine_job *job);

/* Opens the acceptor if the job has a listener. 0 or a negative errno value. */
int event_loop_open_acceptor(struct event_loop *loop);

/* Call when acceptor.fds[index] is readable. Accepts, and reads the hellos that have arrived. Calls
 * task_accepted() for each whole hello. */
void event_loop_accept(struct event_loop *loop, size_t index);

/* Another thread has woken this one. If the thread is cancelled, the phase ends with
 * -ECANCELED. Else every task with an idle queue sends what is due, unless the half-close has
 * begun. The wake-up may belong to a phase that is over. */
void event_loop_wake(struct event_loop *loop);

static inline bool event_loop_is_finishing(const struct event_loop *loop)
{
    return loop->job->shared->finishing;
}

/* The task of the connection with this number in the thread. */
static inline struct task *event_loop_task(const struct event_loop *loop, size_t number)
{
    return (struct task *)((char *)loop->watches + number * loop->watch_size);
}

/* Sends the messages that are due, without waiting. */
void task_send_due(struct task *task);

/* on_hello() of the acceptor. The follower uses `fd` when its previous descriptor is closed. False:
 * the hello names no connection that can take it, or the phase has failed. */
bool task_accepted(void *loop, const uint8_t *hello, int fd);

/* No request on the closed descriptor is outstanding any more: see unwatch(). */
void task_released(struct task *task);

/* Bytes arrived, with this result: the twin relays them. Continues as task_continue(): at once, or
 * after the present batch of events. */
void task_received(struct task *task, int result);
void task_received_in_batch(struct task *task, int result);

/* Returns true if bytes, or the end of the stream, are to be received. After the phase it is what
 * the role wants, too: the peer may have to send that before it can continue elsewhere. */
bool task_should_receive(const struct task *task);

/* The descriptor is writable: continues the half-close, or ends a wait for room. */
void task_writable(struct task *task);

/* As engine_reclaim(), and ends a wait for lent memory. */
int task_reclaim(struct task *task);

/* Notes what the connection awaits after strategy_push() with this result, or that it has failed.
 * Returns true if the next message may follow. */
bool task_pushed(struct task *task, int result);

/* Handles the result of an event: 0, -EAGAIN, or a negative errno value that ends the run. */
void task_continue(struct task *task, int result);

/* Half-closes. If the socket is full, task_writable() calls it again. */
void task_half_close(struct task *task);

/* ---- descriptors of connections that reconnect ---- */

/* Opens a socket, which the engine connects. 0, or a negative errno value with the problem. */
int dial_open(struct dial *dial, struct connection *connection);

/* Reports the error `result` of connect(2) as the problem of the thread. Returns `result`. */
int dial_fail(const struct dial *dial, struct connection *connection, int result);

/* As dial_open(), and calls connect(2). A nonblocking connect may still be in progress; the first
 * call on the descriptor reports its error. -EAGAIN, without a problem or a descriptor: the socket
 * is nonblocking, and the backlog of its Unix listener is full. */
int dial_connect(struct dial *dial, struct connection *connection);

/* ---- waiting for a time, to the nanosecond if the system has such timers ---- */

/* Sleeps until `due_ns` and returns false. Returns true as soon as `fd` is readable or has an
 * error. Counts its calls and sets shared->now_ns. Without a descriptor (-1) it checks every 200 ms
 * whether the thread is cancelled, and returns false then. With pace=spin it polls the clock
 * instead, without a system call, and also until the thread is cancelled. */
bool pause_until(struct thread_shared *shared, int fd, uint64_t due_ns);

/* Sleeps until `fd` has one of these `events`, POLLERR or POLLHUP: poll(2). Counts its calls. */
void pause_for(struct thread_shared *shared, int fd, short events);

/* Sets the timer slack of the thread to 1 ns: else the kernel may end a sleep up to 50 us late. */
void pause_set_timer_slack(void);
