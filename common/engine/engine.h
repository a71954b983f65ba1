/* SPDX-License-Identifier: MIT */
/* An engine runs the event loop of one thread. While it runs, no other thread uses its connections.
 * It calls the workload when a message may be sent and when bytes arrive, the strategy to write,
 * and the reading to read. */
#pragma once

#include "base/axis.h"
#include "connection/connection.h"
#include "connection/security.h"
#include "connection/strategy.h"
#include "connection/workload.h"
#include "control/hello.h"
#include "net/address.h"
#include "transport/transport.h"

#include <uv.h>

/* The descriptors of a workload that reconnects: a new one for every message. The connection keeps
 * its number, its counts and its position in the content. On each descriptor the driver first sends
 * the hello, but not to a foreign peer. The follower closes a descriptor without this hello. */
struct dial {
    const struct address *target; /* the driver connects to it */
    const uint8_t *token;
    int listener;       /* of the follower, nonblocking; -1: none */
    uint64_t strangers; /* accepted descriptors without the token */
    bool proved;        /* the transport of the first accepted descriptor was checked */

    /* The owner has the descriptors: another thread may end the run and shut them down. adopt()
     * stores one; if the run has ended, it closes it and returns -ECANCELED. drop() closes it. */
    int (*adopt)(void *owner, struct connection *connection, int fd);
    void (*drop)(void *owner, struct connection *connection);
    void *owner;
};

/* What the engine of one thread runs. */
struct engine_job {
    struct connection *connections;
    size_t count;
    struct thread_shared *shared;
    struct dial *dial;         /* if the workload reconnects; NULL: the connections are open */
    struct handover *handover; /* to the sender thread; NULL: this thread sends */
    void *state;               /* of the engine */
};

struct task;
struct event_loop;

struct engine {
    struct variant variant;
    unsigned gives; /* capabilities; none: the variant is no engine */
    bool thread_per_connection;
    bool nonblocking; /* needs nonblocking descriptors */

    /* Checks whether this system can run the engine, with the settings of this end (NULL: the
     * defaults). 0, or -1 with an unsupported problem. NULL: it always can. */
    int (*check)(const struct end_plan *own, struct problem *problem);

    /* Called in the thread before the first phase. 0 or a negative errno value. */
    int (*open)(struct engine_job *job);

    /* Called when the thread has ended or never ran. No other thread uses the connections then. The
     * engine sets each descriptor that it closes to -1. */
    void (*close)(struct engine_job *job);

    /* Called by another thread, between open and close; event_loop_wake() follows in the thread.
     * NULL: the engine blocks in calls on one descriptor, and shutdown(2) wakes it. */
    void (*wake)(struct engine_job *job);

    /* ---- for its event loop ---- */

    /* Waits for the next event, at most until a timer is due; not if a task is ready. */
    void (*wait)(struct event_loop *loop);

    /* Re-arm: the set of wanted events may have changed. NULL: the engine waits in calls. */
    void (*rearm)(struct task *task);

    /* Connects the next descriptor of a driver. 0, or as strategy_push(). NULL: dial_connect(). */
    int (*connect)(struct task *task);

    /* Begins to receive from an accepted descriptor. NULL: the engine accepts no connections. */
    void (*accepted)(struct task *task);

    /* Stops watching a descriptor that will be closed. Returns true if requests on it are
     * outstanding; task_released() follows then. NULL: the engine watches no descriptors. */
    bool (*unwatch)(struct task *task);
};

extern const struct axis engine_axis;

/* The number of data threads of `end` under this plan. */
uint64_t engine_threads(const struct plan *plan, enum end end);

/* Runs the connections until the phase is over for all of them: the workload has finished, and the
 * queue is idle. 0, or a negative errno value with the problem of the thread. */
int engine_run(struct engine_job *job);

/* Half-closes the connections that drive, and waits for the half-close of each peer: the peer has
 * received everything. Then half-closes the connections that only follow. So the source of a proxy
 * learns that the sink has received everything. Returns as engine_run(). */
int engine_finish(struct engine_job *job);

/* Calls check() of the engines that give these capabilities. Returns the same. */
int engine_check(unsigned needs, struct problem *problem);

/* ---- for the engines ---- */

/* Sets the problem of the thread, unless it is set: the end could not `doing` its peer, with the
 * error `result`. `doing` is "send to", "receive from". Returns `result`. */
int engine_fail(struct connection *connection, const char *doing, int result);

/* Continues the handshake of a connection in STATE_HANDSHAKING, and sets `awaits`. 0 when it is
 * done; -EAGAIN and -EINPROGRESS as the layer returns them; or an error as engine_run(). */
int engine_handshake(struct connection *connection);

/* True if layer or reading have buffered bytes that the role wants: no event reports them. */
static inline bool engine_has_pending(const struct connection *connection)
{
    const struct reading *reading = connection->reading;
    bool (*pending)(const struct connection *) = connection->top->pending;
    if (pending)
        return connection_is_open(connection) && pending(connection) && connection->role->wants(connection);
    return reading && reading->has_more && reading->has_more(connection) &&
           connection->role->wants(connection);
}

/* Rare: a receive without bytes or of bytes not due; a receive of an end that only sends. */
int engine_on_no_data(struct connection *connection, ssize_t size);
int engine_receive_byte(struct connection *connection);

/* Handles the result of a receive. Passes `size` bytes to the workload; `size` 0: the peer has
 * half-closed; below 0: a negative errno value. An end that only drives gets no bytes after its
 * half-close: they are an error. Returns 0, -EAGAIN, or an error as engine_run(). */
static inline int engine_on_data(struct connection *connection, const uint8_t *data, ssize_t size)
{
    if (LIKELY(size > 0 && (connection->follows || !connection->shared->finishing)))
        return connection->role->arrived(connection, data, (size_t)size);
    return engine_on_no_data(connection, size);
}

/* Before engine_on_data(): `size` bytes are in the next buffer of the pool. A relay owns it. */
static inline void engine_take_buffer(struct connection *connection, ssize_t size)
{
    if (size > 0 && connection->role->relay_buffers)
        pool_take(&connection->shared->pool);
}

/* Receives at most `wanted` bytes (one byte on an end that only sends). An unfinished handshake
 * comes first. Returns as engine_on_data(). */
static inline int engine_receive(struct connection *connection, size_t wanted)
{
    const uint8_t *data = NULL;
    ssize_t size;

    if (UNLIKELY(connection->state == STATE_HANDSHAKING) && (size = engine_handshake(connection)) < 0)
        return size == -EINPROGRESS ? -EAGAIN : (int)size;
    if (UNLIKELY(!connection->reading))
        return engine_receive_byte(connection);
    size = connection->reading->read(connection, wanted, &data);
    if (UNLIKELY(connection->rearms_quickack) && size > 0)
        options_set_quickack(&connection->calls, true);
    engine_take_buffer(connection, size);
    return engine_on_data(connection, data, size);
}

/* The descriptor is readable: receives what the role wants, the end, or unexpected bytes. A relay:
 * what is available, up to `chunks` times what the role wants. Both return as engine_on_data(). */
int engine_receive_ready(struct connection *connection);
int engine_receive_chunks(struct connection *connection, uint64_t chunks);

/* True if memory is lent that the kernel returns by the error queue of the descriptor. */
static inline bool engine_has_lent(const struct connection *connection)
{
    return connection->strategy && connection->strategy->zerocopy &&
           connection->queue.released != connection->queue.appended;
}

/* Returns true if the next message may begin. If each message has its own descriptor, all lent
 * memory of the last one must be back first: only that descriptor reports its return. */
static inline bool engine_may_fill(const struct connection *connection)
{
    return !connection->reconnects || !engine_has_lent(connection);
}

/* Reads the zero-copy notifications. 1 if lent memory came back, else 0 or as engine_run(). */
int engine_reclaim(struct connection *connection);

/* ---- handing over ---- */

/* The data thread makes a request, the sender thread sends it: docs/design/engines.md. The measured
 * delay lies between the clock reading before the post and that of the woken sender, which sleeps
 * in a semaphore (a futex). From post to done the sender owns the send queue, the state of the
 * strategy and the counts of the write path. The data thread owns them else, and all other state
 * always. The semaphores order the writes of one thread before the reads of the other. */
enum handover_order {
    HANDOVER_SEND,       /* push the queue */
    HANDOVER_BEGIN_TIME, /* the measured interval begins: read the usage of the thread */
    HANDOVER_END_TIME,   /* it has ended: read the usage again */
    HANDOVER_END,        /* exit */
};

struct handover {
    struct connection *connection;
    uv_sem_t posted, done;
    bool is_open;
    bool is_pending; /* used by the data thread: it has not waited for the order */

    /* From post to done the sender owns these, then the data thread. */
    enum handover_order order;
    uint64_t posted_ns, woken_ns;
    int result; /* of the push: 0 or a negative errno value */
};

void handover_open(struct handover *handover, struct connection *connection);
void handover_close(struct handover *handover);

/* The next three are for the data thread. Posts an order. */
void handover_post(struct handover *handover, enum handover_order order);

/* Waits until the posted order is done, if there is one. Returns its result. */
int handover_wait(struct handover *handover);

/* Returns true if the order is done. handover_wait() then returns at once. */
bool handover_trywait(struct handover *handover);

/* For the sender thread: executes each HANDOVER_SEND. Returns any other order; the caller executes
 * it and posts `done`. If a push fails, shuts the descriptor down, which wakes the data thread. */
enum handover_order handover_serve(struct handover *handover);
