/* SPDX-License-Identifier: MIT */
/* An io_uring for each thread, any number of connections.
 *
 * The connections queue their requests; one io_uring_enter(2) submits them and waits for the next
 * completion. A strategy or a reading of the ring makes its requests itself. For any other the ring
 * polls the descriptor, and the engine makes nonblocking calls. */
#include "engine/ring_engine.h"

#include "base/cleanup.h"
#include "ring/check.h"
#include "transport/transport.h"

#include <poll.h>
#include <unistd.h>

static struct ring_setup setup_of(const struct end_plan *own)
{
    return (struct ring_setup){.defer_taskrun = own->defer_taskrun,
                               .single_issuer = own->single_issuer,
                               .registered_ring = own->registered_ring};
}

static int check(struct problem *problem)
{
    return ring_check(&(struct ring_setup){true, true, true, 0}, problem);
}

static int suits(const struct plan *plan, enum end end, struct problem *problem)
{
    struct ring_setup setup = setup_of(&plan->ends[end]);

    return ring_check(&setup, problem);
}

/* ---- one connection ---- */

static struct ring_engine *ring_engine_of(const struct watch *watch)
{
    return (struct ring_engine *)watch->turn.turns;
}

/* Makes the request unless one of this kind is outstanding. 0, or a negative errno value. */
static int request(struct watch *watch, enum ring_kind kind)
{
    int result = ring_is_outstanding(watch, kind) ? 0 : ring_watch(&watch->slot, kind);

    if (result == 0)
        watch->outstanding |= 1u << kind;
    return result;
}

static void await_buffers(struct watch *watch)
{
    struct ring_engine *engine = ring_engine_of(watch);

    if (watch->starved)
        return;
    watch->starved = true;
    watch->next_starved = engine->starved;
    engine->starved = watch;
}

/* If a multishot receive may miss the end of the stream, a request of its own reports it. */
static int begin_receiving(struct watch *watch)
{
    struct connection *connection = watch->turn.connection;
    const uint8_t *ignored;
    int result = 0;

    if (!reads_by_ring(connection))
        return request(watch, RING_READABLE);
    if (!watch->slot.ending && connection->plan->transport->hides_eof)
        result = request(watch, RING_HALF_CLOSED);
    if (result < 0)
        return result;
    if (!intake_has_buffers(&ring_engine_of(watch)->intake)) {
        await_buffers(watch);
        return 0;
    }
    result = (int)connection->reading->read(connection, 0, &ignored);
    if (result != -EINPROGRESS)
        return result;
    watch->outstanding |= 1u << RING_RECEIVE;
    return 0;
}

/* As in the poll engine, a connection that has finished the phase receives what its role wants, and
 * a relay receives while it has room. A reading of the ring receives while there are buffers. */
static bool should_receive(const struct turn *turn)
{
    const struct connection *connection = turn->connection;
    const struct role *role = connection->role;
    bool always = reads_by_ring(connection) || (!turn->over && !role->relay_buffers);

    if (reads_by_ring(connection) && role->has_room && !role->has_room(connection))
        return false;
    return !connection_has_ended(connection) &&
           (always || connection->state == STATE_HANDSHAKING || role->wants(connection));
}

/* Makes the requests that the connection needs and that are not outstanding. RING_READABLE
 * completes on errors too. */
static void rearm(struct turn *turn)
{
    struct watch *watch = watch_of(turn);
    struct connection *connection = turn->connection;
    int result = 0;

    if (connection->state < STATE_GREETING || connection->state == STATE_FAILED)
        return;
    if (!(watch->outstanding & (1u << RING_RECEIVE | 1u << RING_READABLE)) && should_receive(turn))
        result = begin_receiving(watch);
    if (result == 0 && connection->awaits == AWAITS_ROOM)
        result = request(watch, RING_WRITABLE);
    if (result == 0 && engine_has_lent(connection) && !ring_is_outstanding(watch, RING_READABLE))
        result = request(watch, RING_ERROR);
    if (result < 0 && turn->turns->result == 0)
        turn->turns->result = engine_fail(connection, "watch its connection to", result);
}

/* ---- connections that reconnect ---- */

static void use_descriptor(struct watch *watch)
{
    watch->slot.file = watch->turn.connection->calls.fd;
    watch->slot.ending = false;
}

static int begin_connect(struct turn *turn)
{
    struct watch *watch = watch_of(turn);
    struct dial *dial = turn->turns->job->dial;
    const struct address *target = dial->target;
    int result = dial_open(dial, turn->connection, false);

    if (result < 0)
        return result;
    use_descriptor(watch);
    result = ring_connect(&watch->slot, &target->any, target->size);
    watch->outstanding |= 1u << RING_CONNECT;
    return result < 0 ? result : -EINPROGRESS;
}

static void watch_accepted(struct turn *turn)
{
    use_descriptor(watch_of(turn));
    rearm(turn);
}

/* Cancels all requests. The socket stays open until they complete. */
static bool forget(struct turn *turn)
{
    struct watch *watch = watch_of(turn);

    for (unsigned kind = 0; kind < RING_WAKE; kind++)
        if (ring_is_outstanding(watch, kind))
            ring_cancel(&watch->slot, kind);
    return watch->outstanding;
}

static int open_acceptor(struct ring_engine *engine)
{
    int result = acceptor_open(&engine->acceptor, &engine->turns, false);

    for (size_t i = 0; i < ACCEPTOR_FDS && result == 0; i++) {
        engine->accepting[i] = (struct ring_slot){.ring = engine->ring,
                                                  .number = (uint32_t)(engine->turns.job->count + i),
                                                  .file = engine->acceptor.fds[i]};
        result = ring_watch(&engine->accepting[i], RING_READABLE);
    }
    return result;
}

/* ---- the loop ---- */

/* If buffers have come back, connections that found none request to receive again. */
static void resume_starved(struct ring_engine *engine)
{
    struct watch *watch = engine->starved;

    if (!watch || !intake_has_buffers(&engine->intake))
        return;
    engine->starved = NULL;
    while (watch) {
        struct watch *next = watch->next_starved;

        watch->starved = false;
        rearm(&watch->turn);
        watch = next;
    }
}

static void wait_in_ring(struct turns *turns)
{
    struct ring_engine *engine = (struct ring_engine *)turns;
    uint64_t due_ns = turns->finishing ? NEVER : turns_next(turns);
    bool spins = due_ns != NEVER && turns->job->shared->plan->pace == PACE_SPIN;
    struct ring_event event;
    int result;

    resume_starved(engine);
    intake_publish(&engine->intake);
    if (spins || (turns->busy && !turns->finishing))
        result = ring_poll(engine->ring);
    else
        result = ring_enter(engine->ring, true, due_ns);
    if (result < 0)
        turns->result = engine_fail(turns->job->connections, "wait in its ring for", result);
    while (turns->result == 0 && ring_next(engine->ring, &event))
        ring_dispatch(engine, &event);
}

static const struct turns_events turns_events = {.connect = begin_connect,
                                                 .take = engine_receive_ready,
                                                 .accepted = watch_accepted,
                                                 .forget = forget,
                                                 .rearm = rearm,
                                                 .wait = wait_in_ring};

/* ---- from another thread ---- */

static void wake_ring(struct engine_job *job)
{
    struct ring_engine *engine = job->state;

    ring_wake(engine->ring);
}

/* ---- open and close ---- */

#define COMPLETIONS_LEAST 4096u

/* One completion for each buffer, and four for each connection. */
static uint32_t completions_of(const struct engine_job *job)
{
    uint64_t count = 4 * job->count + job->shared->pool.count, completions = COMPLETIONS_LEAST;

    while (completions < count && completions < 65536)
        completions *= 2;
    return (uint32_t)completions;
}

static int open_watch(struct ring_engine *engine, size_t index)
{
    struct watch *watch = &engine->watches[index];
    struct connection *connection = &engine->turns.job->connections[index];
    const struct strategy *strategy = connection->strategy;

    watch->slot = (struct ring_slot){.ring = engine->ring,
                                     .number = (uint32_t)index,
                                     .file = connection->calls.fd,
                                     .intake = &engine->intake};
    layer_stack(connection, &layer_ring, &watch->slot);
    connection->calls.flags = MSG_DONTWAIT; /* with O_NONBLOCK the ring would not wait */
    if (!strategy || !strategy->buffers)
        return 0;
    return ring_buffers_open(engine->ring, &watch->slot.outgoing, (uint16_t)(index + 1),
                             strategy->buffers(connection->strategy_parameter));
}

/* All later requests name the descriptors by index (IOSQE_FIXED_FILE). */
static int register_files(struct ring_engine *engine)
{
    size_t count = engine->turns.job->count;
    CLEANUP_FREE int *fds = needed(calloc(count, sizeof *fds));
    int result;

    for (size_t i = 0; i < count; i++)
        fds[i] = engine->watches[i].slot.file;
    result = ring_register_files(engine->ring, fds, (uint32_t)count);
    for (size_t i = 0; i < count && result == 0; i++) {
        engine->watches[i].slot.file = (int)i;
        engine->watches[i].slot.registered = true;
    }
    return result;
}

static int open_parts(struct ring_engine *engine)
{
    struct engine_job *job = engine->turns.job;
    const struct end_plan *own = &job->shared->plan->ends[job->shared->end];
    struct ring_setup setup = setup_of(own);
    int result;

    setup.completions = completions_of(job);
    result = ring_open(&engine->ring, &setup, &job->shared->waits);
    if (result == 0 && reads_by_ring(job->connections))
        result = intake_open(&engine->intake, engine->ring, &job->shared->pool);
    for (size_t i = 0; i < job->count && result == 0; i++)
        result = open_watch(engine, i);
    if (result == 0 && job->dial && job->dial->listener >= 0)
        result = open_acceptor(engine);
    return result == 0 && own->fixed_files && !job->dial ? register_files(engine) : result;
}

static int open_ring(struct engine_job *job)
{
    struct ring_engine *engine = turns_open(job, &turns_events, sizeof *engine, sizeof(struct watch), 0);

    engine->watches = engine->turns.watches;
    return open_parts(engine);
}

static void close_ring(struct engine_job *job)
{
    struct ring_engine *engine = job->state;

    if (!engine)
        return;
    ring_close(engine->ring);
    intake_close(&engine->intake);
    for (size_t i = 0; i < job->count; i++)
        ring_buffers_close(&engine->watches[i].slot.outgoing);
    acceptor_close(&engine->acceptor);
    turns_close(job);
}

const struct engine engine_ring = {
    .variant = {"ring", "an io_uring for each thread, any number of connections"},
    .gives = CAPABLE_RING,
    .check = check,
    .suits = suits,
    .open = open_ring,
    .close = close_ring,
    .wake = wake_ring,
    .run = turns_run,
    .finish = turns_finish,
};
