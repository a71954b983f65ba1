/* SPDX-License-Identifier: MIT */
/*
 * A thread for each connection, in blocking calls: for half-duplex plans, in which an end never has to send
 * and receive at the same moment.
 */
#include "engine/engine.h"

#include "base/clock.h"
#include "connection/capability.h"
#include "engine/pause.h"
#include "security/security.h"
#include "strategy/strategy.h"
#include "transport/sockets.h"
#include "transport/transport.h"
#include "workload/workload.h"

#include <poll.h>

static int suits(const struct plan *plan, enum end end, struct problem *problem)
{
    if (plan_half(plan, end)->renews && !plan->transport->has_other_end)
        return problem_unsupported(
            problem, "workload=%s does not work with transport=%s: it has no other end to connect to",
            plan->workload->variant.name, plan->transport->variant.name);
    if (plan_half(plan, end)->renews && !plan_drives(plan, end))
        return problem_unsupported(
            problem, "server.engine=block cannot carry workload=connect: a thread that serves one "
                     "connection does not take the next");
    if (plan_half(plan, end)->keeps ? plan->direction == DIRECTION_BOTH
                                    : plan_drives(plan, end) && plan_follows(plan, end))
        return problem_unsupported(problem,
                                   "engine=block cannot carry direction=both: a thread that waits in send() "
                                   "does not receive, and two of them wait for each other");
    if (plan_drives(plan, end) && plan_incoming(plan, end) && plan->depth > 1)
        return problem_unsupported(
            problem,
            "engine=block cannot carry depth=%llu: a thread that waits in send() takes "
            "no reply, and the other end, which waits to send one, no request",
            (unsigned long long)plan->depth);
    return 0;
}

/* Nothing is due and nothing under way. */
static int wait_until(struct duty *duty, uint64_t due_ns)
{
    struct workbench *bench = duty->bench;
    bool woken = false;
    int result;

    if (bench->plan->pace == PACE_SPIN)
        pause_spin(bench, due_ns);
    else
        woken = pause_sleep(bench, duty->connections->calls.fd, due_ns);
    if (workbench_is_cancelled(bench))
        return -ECANCELED;
    if (!woken)
        return 0;
    result = engine_reclaim(duty->connections);
    if (result != 0)
        return result < 0 ? result : 0;
    return engine_receive(duty->connections, 1); /* the end, or what was not due */
}

/* Waits until some of the lent memory has come back. 0 or what run() returns. */
static int await_memory(struct connection *connection)
{
    int result = engine_reclaim(connection);

    if (result == 0) {
        pause_for(connection->bench, connection->calls.fd, 0);
        result = engine_reclaim(connection);
    }
    if (result == 0) { /* an error that is none of memory, or control has shut the descriptor down */
        result = sockets_error(connection->calls.fd);
        return engine_broken(connection, "send to", result < 0 ? result : -EPIPE);
    }
    return result < 0 ? result : 0;
}

/* One push, and where memory has to come back first, that. */
static int push_or_await(struct connection *connection)
{
    int result = connection->strategy->push(connection);

    if (result == -EINPROGRESS && engine_has_lent(connection))
        return await_memory(connection);
    return result < 0 ? engine_broken(connection, "send to", result) : 0;
}

/* Where the call of a reading never waits, it is waited for here. */
static int receive(struct connection *connection)
{
    int result = engine_receive(connection, connection->half->wants(connection));

    if (result != -EAGAIN)
        return result;
    pause_for(connection->bench, connection->calls.fd, POLLIN);
    result = engine_reclaim(connection);
    return result < 0 ? result : 0;
}

static int connect_blocking(struct duty *duty, struct connection *connection)
{
    return dial_out(duty->dial, connection, false);
}

static int send_due(struct duty *duty, struct connection *connection)
{
    int result = 0;

    if (!connection_is_open(connection))
        result = engine_establish(duty, connection, connect_blocking);
    return result < 0 ? engine_broken(connection, "send to", result) : push_or_await(connection);
}

/* What one call brought, and all that is there by then, up to a window. */
static int receive_and_look(struct connection *connection)
{
    size_t wanted = connection->half->wants(connection);
    uint64_t before = connection->arrivals.bytes;
    int result = engine_receive(connection, wanted);

    if (result < 0 || connection->arrivals.bytes - before < wanted)
        return result;
    connection->calls.flags = MSG_DONTWAIT;
    result = engine_receive_chunks(connection, connection->window - 1);
    connection->calls.flags = 0;
    return result == -EAGAIN ? 0 : result;
}

static int push_all(struct connection *connection)
{
    int result = 0;

    connection->half->fill(connection);
    while (result == 0 && !queue_is_idle(&connection->queue)) {
        result = push_or_await(connection);
        connection->half->fill(connection);
    }
    return result;
}

/* Nothing is over before all of it is here. */
static int await_all_memory(struct connection *connection)
{
    int result = 0;

    while (result == 0 && engine_has_lent(connection))
        result = await_memory(connection);
    return result;
}

/* A pair of which one receives and the other sends that on. */
static int run_pair(struct connection *from)
{
    int result = 0;

    while (result == 0 && !half_over(from->twin)) {
        bool full = !from->half->wants(from) && engine_has_lent(from->twin);

        result = full ? await_memory(from->twin) : receive_and_look(from);
        if (result == 0)
            result = push_all(from->twin);
    }
    return result < 0 ? result : await_all_memory(from->twin);
}

/* The sender's failure is the cause of what the data thread then met: it shut the descriptor down. */
static int tell_cause(struct duty *duty, int result)
{
    int sent = handover_is_back(duty->handover) ? duty->handover->result : 0;

    if (sent == 0)
        return result;
    duty->bench->problem = (struct problem){0};
    return engine_broken(duty->connections, "send to", sent);
}

/* The request that is in the queue, sent by the other thread, and its reply, which may come before that
 * thread knows that all is sent. What fails is not waited for: who ends the run shuts the descriptor down. */
static int exchange_handed_over(struct duty *duty)
{
    struct connection *connection = duty->connections;
    int result = 0;

    handover_give(duty->handover, HANDOVER_SEND);
    while (result == 0 && connection->half->wants(connection))
        result = receive(connection);
    if (result < 0)
        return tell_cause(duty, result);
    result = handover_take_back(duty->handover);
    if (result < 0)
        return engine_broken(connection, "send to", result);
    histogram_record(&duty->bench->handover, handover_delay_ns(duty->handover));
    return 0;
}

static int run_handing_over(struct duty *duty)
{
    struct connection *connection = duty->connections;
    int result = 0;

    while (result == 0) {
        connection->half->fill(connection);
        if (!queue_is_idle(&connection->queue))
            result = exchange_handed_over(duty);
        else if (half_next(connection) == NEVER)
            break;
        else
            result = wait_until(duty, half_next(connection));
    }
    return result;
}

static int block_run(struct duty *duty)
{
    struct connection *connection = duty->connections; /* one, or a pair: one_each */
    const struct half *half = connection->half;

    if (connection->twin)
        return run_pair(connection->follows ? connection : connection->twin);
    if (duty->handover)
        return run_handing_over(duty);
    for (;;) {
        int result = 0;

        if (engine_is_answered(connection)) {
            dial_hang_up(duty->dial, connection);
            lifecycle_advance(&connection->state, EVENT_RELEASED);
        }
        if (engine_may_fill(connection))
            half->fill(connection);
        if (!queue_is_idle(&connection->queue)) {
            result = send_due(duty, connection);
            if (result < 0)
                return result;
            continue; /* more may be due, and the other end may wait for it */
        }
        if (engine_has_lent(connection) && !connection_room(connection))
            result = await_memory(connection); /* or a reply that is owed could not be appended */
        else if (half->wants(connection))
            result = receive(connection);
        else if (!engine_may_fill(connection))
            result = await_memory(connection);
        else if (half_next(connection) == NEVER)
            return await_all_memory(connection);
        else
            result = wait_until(duty, half_next(connection));
        if (result < 0)
            return result;
    }
}

static int finish_one(struct connection *connection)
{
    int result = security_half_close(connection);

    if (result < 0)
        return engine_broken(connection, "half-close towards", result);
    while (connection->drives && result == 0)
        result = engine_take_end(connection);
    return result < 0 ? result : 0;
}

static int block_finish(struct duty *duty)
{
    struct connection *first = duty->connections;
    int result = 0;

    if (first->twin && !first->drives)
        result = finish_one(first->twin);
    if (result == 0)
        result = finish_one(first);
    if (result == 0 && first->twin && first->drives)
        result = finish_one(first->twin);
    return result;
}

const struct engine engine_block = {
    .variant = {"block", "a thread for each connection, in blocking calls"},
    .gives = CAPABLE_WAITING,
    .one_each = true,
    .suits = suits,
    .run = block_run,
    .finish = block_finish,
};
