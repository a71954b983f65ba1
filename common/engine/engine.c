/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"

#include <string.h>

#define AXIS engine
#define AXIS_NAME "engine"
#define AXIS_LIST "engine/list.def"
#include "base/axis.def"

int engine_check(unsigned needs, struct problem *problem)
{
    for (size_t i = 0; i < engine_axis.count; i++) {
        const struct engine *engine = (const struct engine *)engine_axis.variants[i];
        if (needs & engine->gives && engine->check && engine->check(NULL, problem) < 0)
            return -1;
    }
    return 0;
}

uint64_t engine_threads(const struct plan *plan, enum end end)
{
    uint64_t threads = plan->ends[end].threads;
    bool many = plan->ends[end].engine->thread_per_connection || threads > plan->connections;
    return many ? plan->connections : threads;
}

/* ---- for the engines ---- */

int engine_fail(struct connection *connection, const char *doing, int result)
{
    problem_of_kind(&connection->shared->problem, problem_kind_of(-result), "the %s could not %s the %s: %s",
                    end_names[connection->end], doing, plan_name_of(connection->plan, connection->peer),
                    strerror(-result));
    lifecycle_advance(&connection->state, EVENT_BROKEN);
    return result;
}

int engine_handshake(struct connection *connection)
{
    struct thread_shared *shared = connection->shared;

    if (connection->state != STATE_HANDSHAKING)
        return 0;
    uint64_t since_ns = atomic_load_explicit(&connection->handshake_ns, memory_order_relaxed);
    int result = connection->security->handshake(connection);
    connection->awaits = result == -EAGAIN        ? AWAITS_ROOM
                         : result == -EINPROGRESS ? AWAITS_EVENT
                                                  : AWAITS_NOTHING;
    if (connection->awaits)
        return result;
    if (result < 0) {
        shared->handshake_failed = true;
        return engine_fail(connection, "complete the TLS handshake with", result);
    }
    histogram_record(&shared->handshake, clock_now_ns() - since_ns);
    atomic_store_explicit(&connection->handshake_ns, 0, memory_order_relaxed);
    lifecycle_advance(&connection->state, EVENT_SECURED);
    return 0;
}

int engine_reclaim(struct connection *connection)
{
    int result = engine_has_lent(connection) ? socket_reclaim(connection) : 0;
    return result < 0 ? engine_fail(connection, "reclaim the memory that it sent to", result) : result;
}

/* Only a driver ends the work, between two messages. Its follower answers with its half-close. */
int engine_on_no_data(struct connection *connection, ssize_t size)
{
    bool follows = connection->follows;

    if (size == -EAGAIN || (size == 0 && connection_has_ended(connection)))
        return (int)size; /* after an error the end is read once more */
    if (size < 0)
        return engine_fail(connection, "receive from", (int)size);
    if (size == 0 && (follows ? !connection->arrivals.partial : connection->shared->finishing)) {
        lifecycle_advance(&connection->state, EVENT_PEER_HALF_CLOSED);
        return 0;
    }
    struct problem *problem = &connection->shared->problem;
    const char *peer = plan_name_of(connection->plan, connection->peer);
    lifecycle_advance(&connection->state, EVENT_BROKEN);
    if (size == 0)
        problem_symptom(problem, "the %s closed its connection %s", peer,
                        follows ? "in the middle of a message" : "before the work was done");
    else
        problem_failure(problem, "the %s sent %zd bytes that were not due", peer, size);
    return size == 0 ? -EPIPE : -EBADMSG;
}

int engine_receive_byte(struct connection *connection)
{
    uint8_t byte = 0;
    ssize_t size = connection->top->receive(connection, &byte, 1, 0);
    return engine_on_data(connection, &byte, size);
}

/* Stops after a short read, which has emptied the socket buffer (epoll(7)). That saves a call. */
int engine_receive_chunks(struct connection *connection, uint64_t chunks)
{
    size_t wanted;
    int result = 0;
    for (uint64_t i = 0; i < chunks && result == 0 && (wanted = connection->role->wants(connection)); i++) {
        uint64_t before = connection->arrivals.bytes;
        result = engine_receive(connection, wanted);
        if (connection->arrivals.bytes - before < wanted)
            break;
    }
    return result;
}

/* A plain descriptor returns all bytes that have arrived, up to a chunk; a record layer returns one
 * record, so more may be in flight. While a run finishes, the descriptor says what is left. */
static bool may_have_more(const struct connection *connection, uint64_t taken)
{
    const struct plan *plan = connection->plan;
    return !connection->shared->finishing && connection->top->pending &&
           taken < connection->shared->pool.size &&
           (plan->depth > 1 || !plan_role(plan, END_CLIENT)->times) && connection->role->wants(connection);
}

int engine_receive_ready(struct connection *connection)
{
    size_t wanted = connection->role->wants(connection);
    uint64_t before = connection->arrivals.bytes, taken = 0;
    if (connection->role->relay_buffers)
        return engine_receive_chunks(connection, connection->window);
    int result = engine_receive(connection, wanted ? wanted : 1); /* the end, or unexpected bytes */
    while (result == 0 && (taken = connection->arrivals.bytes - before) &&
           (engine_has_pending(connection) || may_have_more(connection, taken)))
        result = engine_receive(connection, connection->role->wants(connection));
    return result == -EAGAIN && taken ? 0 : result;
}

/* ---- handing over ---- */

void handover_open(struct handover *handover, struct connection *connection)
{
    *handover = (struct handover){.connection = connection, .is_open = true};
    uv_sem_init(&handover->posted, 0);
    uv_sem_init(&handover->done, 0);
}

void handover_close(struct handover *handover)
{
    if (!handover->is_open)
        return;
    uv_sem_destroy(&handover->posted);
    uv_sem_destroy(&handover->done);
    handover->is_open = false;
}

void handover_post(struct handover *handover, enum handover_order order)
{
    handover->order = order;
    handover->is_pending = true;
    handover->posted_ns = clock_now_ns();
    uv_sem_post(&handover->posted);
}

int handover_wait(struct handover *handover)
{
    if (handover->is_pending)
        uv_sem_wait(&handover->done);
    handover->is_pending = false;
    return handover->result;
}

bool handover_trywait(struct handover *handover)
{
    if (handover->is_pending && uv_sem_trywait(&handover->done) == 0)
        handover->is_pending = false;
    return !handover->is_pending;
}

enum handover_order handover_serve(struct handover *handover)
{
    struct connection *connection = handover->connection;

    for (;;) {
        uv_sem_wait(&handover->posted);
        if (handover->order != HANDOVER_SEND)
            return handover->order;
        handover->woken_ns = clock_now_ns();
        int fd = connection->calls.fd; /* the owner closes it only when this thread has ended */
        int result = handover->result = strategy_push(connection);
        uv_sem_post(&handover->done);
        if (result < 0)
            shutdown(fd, SHUT_RDWR);
    }
}
