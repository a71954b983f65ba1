/* SPDX-License-Identifier: MIT */
/*
 * An engine owns the waiting: one thread, its own connections, nothing shared while it runs.
 *
 * It tells the workload "you may send" and "these bytes arrived", asks the strategy to push and the reading
 * to take. It can wait for any strategy whose descriptor it can watch.
 */
#ifndef UNCORK_ENGINE_ENGINE_H
#define UNCORK_ENGINE_ENGINE_H

#include "base/axis.h"
#include "connection/connection.h"
#include "engine/dial.h"
#include "engine/handover.h"
#include "reading/reading.h"
#include "security/security.h"
#include "strategy/strategy.h"
#include "workload/workload.h"

/* What an engine is given: one thread's connections. */
struct duty {
    struct connection *connections;
    size_t count;
    struct workbench *bench;
    struct dial *dial; /* for workloads that renew their descriptors; NULL: the connections have theirs */
    struct handover *handover; /* to the thread that sends in place of this one; NULL: it sends itself */
    void *state;               /* the engine's own */
};

struct engine {
    struct variant variant;
    unsigned gives;   /* capabilities */
    bool one_each;    /* needs a thread for every connection */
    bool nonblocking; /* wants descriptors that do not block */

    /* Whether this system can run it at all. 0, or -1 with an unsupported problem. NULL: any can. */
    int (*check)(struct problem *problem);

    /* Whether it can carry this plan at this end. 0, or -1 with an unsupported problem. */
    int (*suits)(const struct plan *plan, enum end end, struct problem *problem);

    /* Before the first phase, in the thread: makes its state. 0 or a negative errno value. */
    int (*open)(struct duty *duty);

    /* When the thread has ended, or never ran: nobody else looks at the connections any more. A descriptor
     * that the engine has closed is -1 afterwards. */
    void (*close)(struct duty *duty);

    /* From another thread, between open and close: run() looks again at all of its connections, and comes
     * back with -ECANCELED where the workbench says so. NULL: it waits in calls on one descriptor, and is
     * ended by shutdown(2). */
    void (*wake)(struct duty *duty);

    /* Runs the connections until the phase is over for all of them: their workload wants nothing more and
     * their queue is idle. 0, or a negative errno value with the problem of the workbench. */
    int (*run)(struct duty *duty);

    /* Half-closes the connections that drive and waits for the other end's half-close: everything they sent
     * has been taken. Then half-closes those that only follow: a proxy's source learns so from it that the
     * sink has all. Returns as run(). */
    int (*finish)(struct duty *duty);
};

extern const struct axis engine_axis;

/* The engine that runs `end` under this plan: the one that was asked for, or for `auto` the first of the list
 * that suits and gives what strategy and reading need. */
const struct engine *engine_of(const struct plan *plan, enum end end);

/* The data threads of `end` under this plan. */
uint64_t engine_threads(const struct plan *plan, enum end end);

/* Whether this system can run the engines that give these capabilities. 0, or -1 with an unsupported
 * problem. */
int engine_check(unsigned needs, struct problem *problem);

/* ---- for the engines ---- */

/* For those that have no thread to hand over to: 0, or -1 with an unsupported problem where the plan asks for
 * one. */
int engine_sends_itself(const struct plan *plan, enum end end, const char *name, struct problem *problem);

/* What a result of a strategy ("send to") or a reading ("receive from") means for a person. Sets the problem
 * of the workbench, unless it is set, and returns `result`. */
int engine_broken(struct connection *connection, const char *doing, int result);

/* Goes on with the handshake of a connection that shakes hands, and says in `awaits` what it waits for. 0
 * when it is done; -EAGAIN and -EINPROGRESS as the layer says; or what run() returns. */
int engine_handshake(struct connection *connection);

/* Does what stands between a connection and its first byte, as far as it goes now: a socket that `connect`
 * connects, the hello, the handshake. 0 when it is done; or as strategy->push(). */
int engine_establish(struct duty *duty, struct connection *connection,
                     int (*connect)(struct duty *duty, struct connection *connection));

/* Whether the layer or the reading has bytes that the descriptor does not show any more, and the role would
 * take them. */
static inline bool engine_has_unseen(const struct connection *connection)
{
    const struct reading *reading = connection->reading;
    bool (*has_more)(const struct connection *) = connection->security->has_more;

    if (has_more)
        return connection->session && connection_is_open(connection) && has_more(connection) &&
               connection->role->wants(connection);
    return reading && reading->has_more && reading->has_more(connection) &&
           connection->role->wants(connection);
}

/* What came of taking bytes out: so many of them, which go to the workload; 0: the peer has half-closed; or a
 * negative errno value. 0, -EAGAIN, or what run() returns. */
int engine_arrived(struct connection *connection, const uint8_t *data, ssize_t size);

/* Takes at most `wanted` bytes out (one byte on an end that only sends), after the handshake if that is not
 * done. As engine_arrived(). */
int engine_receive(struct connection *connection, size_t wanted);

/* The descriptor shows something: takes what the role wants, or the end, or what was not due. As
 * engine_arrived(). */
int engine_receive_ready(struct connection *connection);

/* For who keeps what arrives: takes what is there, up to `chunks` times what it wants. As engine_arrived().
 */
int engine_receive_chunks(struct connection *connection, uint64_t chunks);

/* So many bytes came in the buffer that came next, which whoever keeps what arrives has now. For those who
 * receive into it: before engine_arrived(). */
static inline void engine_keep(struct connection *connection, ssize_t size)
{
    if (size > 0 && connection->role->relay_buffers)
        pool_take(&connection->bench->pool);
}

/* Whether memory is away that comes back by the error queue of the descriptor. */
static inline bool engine_has_lent(const struct connection *connection)
{
    return connection->strategy && connection->strategy->reclaim &&
           connection->queue.released != connection->queue.appended;
}

/* Whether a driver that renews its descriptors has all that it asked for on the one it has. */
static inline bool engine_is_answered(const struct connection *connection)
{
    const struct role *role = connection->role;

    return role->reconnects && connection->drives && connection->calls.fd >= 0 &&
           queue_is_idle(&connection->queue) && !role->wants(connection) && !engine_has_lent(connection);
}

/* Whether the next message may be begun: where each has a descriptor of its own, nothing that was lent on the
 * last may be away, for only that says so. */
static inline bool engine_may_fill(const struct connection *connection)
{
    return !connection->role->reconnects || !engine_has_lent(connection);
}

/* The descriptor shows something: takes what says that lent memory has come back. 1 when some has, 0 when
 * none has, or what run() returns. */
int engine_reclaim(struct connection *connection);

/* The peer has half-closed. 0, or -EPIPE with a problem if it was not its turn to: only a driver ends the
 * work, and only between two messages. */
int engine_peer_ended(struct connection *connection);

/* As engine_arrived(), after the half-close of a connection that drives: 1 when the peer has half-closed too,
 * 0 when there may be more; bytes that nobody asked for are an error. */
int engine_end_arrived(struct connection *connection, const uint8_t *data, ssize_t size);

/* Takes what is there after that half-close. As engine_end_arrived(). */
int engine_take_end(struct connection *connection);

#endif
