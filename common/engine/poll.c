/* SPDX-License-Identifier: MIT */
/*
 * A libuv loop for each thread, any number of connections.
 *
 * It writes first and asks to be told of room only after the descriptor was full; what it watches for then
 * stays until the queue is empty. So a loop that answers what it reads makes no epoll_ctl(2), and a stream
 * that fills its socket again and again makes none either.
 *
 * What it waits for is the descriptor (uv_poll_t), or a stream on it where the strategy writes through one;
 * the two are told apart in watch_for() and in what libuv calls.
 */
#include "engine/engine.h"

#include "connection/capability.h"
#include "connection/strategy.h"
#include "connection/workload.h"
#include "engine/pause.h"
#include "engine/poller.h"
#include "transport/transport.h"

#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#define EVENTS_PER_CALL 1024 /* that libuv takes at once; it asks again when there were as many */

static int suits(const struct plan *plan, enum end end, struct problem *problem)
{
    const struct role *role = plan_role(plan, end);

    if (!plan->transport->has_other_end)
        return problem_unsupported(problem,
                                   "engine=poll cannot carry transport=%s: there is no descriptor to watch",
                                   plan->transport->variant.name);
    if (role->reconnects && plan_strategy(plan, end)->strategy->needs & CAPABLE_LOOP)
        return problem_unsupported(
            problem, "write=%s cannot carry workload=%s: a stream of libuv keeps its descriptor",
            plan_strategy(plan, end)->strategy->variant.name, plan->workload->variant.name);
    if (engine_sends_itself(plan, end, "poll", problem) < 0)
        return -1;
    return acceptor_suits(plan, end, problem);
}

/* ---- what a connection is told of ---- */

static void on_event(uv_poll_t *poll, int status, int events);

static void watch_for(struct watch *watch, int events)
{
    if (events == watch->events)
        return;
    watch->events = events;
    poller_of(watch)->unregistered = true;
    if (stream_is(watch->turn.connection))
        stream_read(&watch->stream, events & UV_READABLE); /* it knows itself when it can write */
    else if (events)
        uv_poll_start(&watch->poll, events, on_event);
    else
        uv_poll_stop(&watch->poll);
}

/* POLLERR comes unasked where anything is watched for. But libuv 1.44 takes it for the end of a descriptor
 * and stops watching, unless it comes alone and urgent data is watched for, which nobody sends. So that is,
 * and only a POLLERR that comes with something else costs two epoll_ctl(2). */
static bool is_to_be_returned(const struct connection *connection)
{
    return connection->strategy && connection->strategy->zerocopy;
}

/* One that is out of the phase still takes what comes, if there is anything that it would take: the other end
 * may have to send it before it can go on with another. */
static void rearm(struct turn *turn)
{
    const struct connection *connection = turn->connection;
    bool listens = !turn->over && !connection->role->relay_buffers; /* who keeps may have no room for more */
    bool handshaking = connection->state == STATE_HANDSHAKING;
    bool reads =
        !connection_has_ended(connection) && (listens || handshaking || connection->role->wants(connection));

    if (connection->state >= STATE_GREETING && connection->state < STATE_FAILED)
        watch_for(watch_of(turn), (reads ? UV_READABLE : 0) |
                                      (connection->awaits == AWAITS_ROOM ? UV_WRITABLE : 0) |
                                      (is_to_be_returned(connection) ? UV_PRIORITIZED : 0));
}

/* ---- one connection ---- */

/* Without a descriptor there is nothing to be told by: tried again in the next turn. */
static int push(struct turn *turn)
{
    struct connection *connection = turn->connection;
    int result = 0;

    if (!connection_is_open(connection))
        result = engine_establish(turn->turns->duty, connection, poll_connect);
    if (result == 0)
        result = connection->strategy->push(connection);
    poller_of(watch_of(turn))->unregistered |= result == -EINPROGRESS;
    return result == -EAGAIN && connection->state == STATE_UNOPENED ? -EBUSY : result;
}

static void arrived(struct watch *watch, int result)
{
    turn_relay(&watch->turn);
    turn_continue(&watch->turn, result);
}

void poll_receive(struct watch *watch)
{
    arrived(watch, engine_receive_ready(watch->turn.connection));
}

static void take(struct turn *turn)
{
    poll_receive(watch_of(turn));
}

/* Of the half-close. */
static void on_event_of_end(struct watch *watch, int events)
{
    if (turn_is_half_closing(&watch->turn) && events & UV_WRITABLE)
        turn_half_close(&watch->turn);
    if (events & UV_READABLE)
        turn_continue_end(&watch->turn, engine_receive_end(watch->turn.connection));
}

/* Lent memory has come back, or there is an error on the socket: then the calls will say which. Returns what
 * there may be beside it; where the error came `alone`, nothing. */
static int look_at_error(struct watch *watch, bool alone)
{
    struct turn *turn = &watch->turn;
    int result = engine_reclaim(turn->connection);

    if (result < 0)
        turn_stop(turn, result);
    if (result <= 0)
        return UV_READABLE | UV_WRITABLE;
    if (turn->connection->awaits == AWAITS_EVENT)
        turn->connection->awaits = AWAITS_NOTHING;
    return !alone && turn->connection->role->wants(turn->connection) ? UV_READABLE : 0;
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = (struct watch *)poll;
    struct turns *turns = watch->turn.turns;
    bool handshaking = watch->turn.connection->state == STATE_HANDSHAKING;

    poller_of(watch)->events++;
    if (status < 0) /* libuv has stopped watching */
        watch->events = 0;
    if (status < 0 || events & UV_PRIORITIZED)
        events = look_at_error(watch, status == 0);
    if (turns->result < 0)
        return;
    if (turns->finishing) {
        on_event_of_end(watch, events);
        return;
    }
    if (events & UV_WRITABLE && !handshaking)
        watch->turn.connection->awaits = AWAITS_NOTHING;
    if (events & UV_READABLE || handshaking)
        poll_receive(watch);
    else
        turn_continue(&watch->turn, 0);
}

static void on_arrived(struct stream *stream, const uint8_t *data, ssize_t size)
{
    struct watch *watch = (struct watch *)stream;
    struct connection *connection = watch->turn.connection;

    if (watch->turn.turns->result < 0)
        return;
    if (watch->turn.turns->finishing)
        turn_continue_end(&watch->turn, engine_on_end_data(connection, data, size));
    else
        arrived(watch, engine_on_data(connection, data, size));
}

static void on_written(struct stream *stream, int result)
{
    struct watch *watch = (struct watch *)stream;

    if (watch->turn.turns->result < 0)
        return;
    watch->turn.connection->awaits = AWAITS_NOTHING;
    turn_continue(&watch->turn, result < 0 ? engine_fail(watch->turn.connection, "send to", result) : 0);
}

static const struct stream_events stream_events = {.arrived = on_arrived, .written = on_written};

/* ---- the loop ---- */

static void turn_loop(struct poller *poller, uv_run_mode mode)
{
    poller->events = 0;
    poller->unregistered = false;
    uv_run(&poller->loop, mode);
    poller->turns.duty->bench->waits.made[CALL_EPOLL_WAIT] += 1 + poller->events / EVENTS_PER_CALL;
}

/* True when the loop has something to do before the next start is due. */
static bool sleep_until(struct poller *poller, uint64_t due_ns)
{
    struct workbench *bench = poller->turns.duty->bench;

    if (poller->unregistered || bench->plan->pace == PACE_SPIN)
        return true;
    return due_ns <= bench->now_ns || pause_sleep(bench, uv_backend_fd(&poller->loop), due_ns);
}

static void wait_in_loop(struct turns *turns)
{
    struct poller *poller = (struct poller *)turns;
    uint64_t due_ns = turns_next(turns);

    if (turns->finishing || (!turns->busy && due_ns == NEVER))
        turn_loop(poller, UV_RUN_ONCE);
    else if (turns->busy || sleep_until(poller, due_ns))
        turn_loop(poller, UV_RUN_NOWAIT);
}

static const struct turns_events turns_events = {.push = push,
                                                 .take = take,
                                                 .close = poll_close_descriptor,
                                                 .assigned = poll_assigned,
                                                 .rearm = rearm,
                                                 .wait = wait_in_loop};

/* ---- from another thread ---- */

static void poll_wake(struct duty *duty)
{
    struct poller *poller = duty->state;

    uv_async_send(&poller->wake);
}

static void on_wake(uv_async_t *wake)
{
    struct poller *poller = wake->data;

    turns_wake(&poller->turns);
}

/* ---- its state ---- */

static bool writes_by_stream(const struct connection *connection)
{
    return connection->strategy && connection->strategy->needs & CAPABLE_LOOP;
}

static int open_watch(struct poller *poller, size_t index)
{
    struct watch *watch = &poller->watches[index];
    struct connection *connection = &poller->turns.duty->connections[index];

    turns_join(&poller->turns, index, &watch->turn);
    if (connection->role->reconnects)
        return 0;
    return writes_by_stream(connection)
               ? stream_open(&watch->stream, &poller->loop, connection, &stream_events)
               : uv_poll_init(&poller->loop, &watch->poll, connection->calls.fd);
}

/* libuv writes and reads, and where more streams may be ready than it takes at once it waits unseen too. */
static void leave_uncounted(const struct duty *duty)
{
    duty->bench->uncounted = 1u << CALL_WRITES | 1u << CALL_READS;
    if (duty->count >= EVENTS_PER_CALL)
        duty->bench->uncounted |= 1u << CALL_WAITS;
}

static int poll_open(struct duty *duty)
{
    struct poller *poller = calloc(1, sizeof *poller);
    int result;

    if (!poller || uv_loop_init(&poller->loop) < 0) {
        free(poller);
        return -ENOMEM;
    }
    duty->state = poller;
    poller->wake.data = poller;
    poller->watches = calloc(duty->count, sizeof *poller->watches);
    if (turns_open(&poller->turns, duty, &turns_events) < 0 || !poller->watches ||
        uv_async_init(&poller->loop, &poller->wake, on_wake) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < duty->count; i++) {
        result = open_watch(poller, i);
        if (result < 0)
            return result;
    }
    turns_pair(&poller->turns);
    if (stream_is(duty->connections))
        leave_uncounted(duty);
    return duty->dial && duty->dial->listener >= 0 ? poll_open_acceptor(poller) : 0;
}

static void close_watch(struct watch *watch)
{
    if (watch->turn.connection && watch->turn.next_fd >= 0)
        close(watch->turn.next_fd);
    if (!watch->handle.loop || uv_is_closing(&watch->handle))
        return;
    if (stream_is(watch->turn.connection))
        stream_close(&watch->stream);
    else
        uv_close(&watch->handle, NULL);
}

static void poll_close(struct duty *duty)
{
    struct poller *poller = duty->state;

    if (!poller)
        return;
    poller->turns.result = -ECANCELED; /* nothing is begun any more */
    for (size_t i = 0; poller->watches && i < duty->count; i++)
        close_watch(&poller->watches[i]);
    poll_close_acceptor(poller);
    if (poller->wake.loop)
        uv_close((uv_handle_t *)&poller->wake, NULL);
    uv_run(&poller->loop, UV_RUN_DEFAULT);
    uv_loop_close(&poller->loop);
    acceptor_close(&poller->acceptor);
    turns_close(&poller->turns);
    free(poller->watches);
    free(poller);
    duty->state = NULL;
}

const struct engine engine_poll = {
    .variant = {"poll", "a libuv loop for each thread, any number of connections"},
    .gives = CAPABLE_LOOP | CAPABLE_WAITING,
    .nonblocking = true,
    .suits = suits,
    .open = poll_open,
    .close = poll_close,
    .wake = poll_wake,
    .run = turns_run,
    .finish = turns_finish,
};
