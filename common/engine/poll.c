/* SPDX-License-Identifier: MIT */
/* A libuv loop for each thread, any number of connections.
 *
 * It writes first and watches for UV_WRITABLE only after EAGAIN; the watch then stays until the
 * queue is empty. So a loop that answers what it reads makes no epoll_ctl(2). A stream that fills
 * its socket again and again makes none either.
 *
 * It watches the descriptor (uv_poll_t), or a libuv stream on it if the strategy writes through
 * one. watch_for() and the callbacks of libuv make the difference. */
#include "engine/turns.h"

#include "engine/acceptor.h"
#include "engine/pause.h"
#include "engine/stream.h"
#include "transport/transport.h"

#include <unistd.h>
#include <uv.h>

#define EVENTS_PER_CALL 1024 /* of libuv; after as many it calls epoll_wait(2) again */

struct watch {
    union { /* first: libuv passes it to the callbacks */
        uv_handle_t handle;
        uv_poll_t poll;
        struct stream stream;
    };
    struct turn turn;
    int events; /* watched for: UV_READABLE, UV_WRITABLE, UV_PRIORITIZED */
};

struct poller {
    struct turns turns; /* first */
    uv_loop_t loop;
    uv_async_t wake;
    struct acceptor acceptor; /* of a follower that reconnects */
    uv_poll_t accepting[ACCEPTOR_FDS];
    struct watch *watches;
    size_t events;     /* in this iteration of the loop */
    bool unregistered; /* the loop must run: watches changed, or a stream was written to */
};

static struct watch *watch_of(struct turn *turn)
{
    return (struct watch *)((char *)turn - offsetof(struct watch, turn));
}

static struct poller *poller_of(const struct watch *watch)
{
    return (struct poller *)watch->turn.turns;
}

static int suits(const struct plan *plan, enum end end, struct problem *problem)
{
    if (plan->workload->reconnects && plan_strategy(plan, end)->strategy->needs & CAPABLE_LOOP)
        return problem_unsupported(
            problem, "write=%s cannot carry workload=%s: a stream of libuv keeps its descriptor",
            plan_strategy(plan, end)->strategy->variant.name, plan->workload->variant.name);
    return 0;
}

/* ---- watched events ---- */

static void on_event(uv_poll_t *poll, int status, int events);

static void watch_for(struct watch *watch, int events)
{
    if (events == watch->events)
        return;
    watch->events = events;
    poller_of(watch)->unregistered = true;
    if (stream_is(watch->turn.connection))
        stream_read(&watch->stream, events & UV_READABLE); /* libuv watches for POLLOUT */
    else if (events)
        uv_poll_start(&watch->poll, events, on_event);
    else
        uv_poll_stop(&watch->poll);
}

/* A connection that has finished the phase still receives what its role wants. The other end may
 * have to send that before it continues with another connection.
 *
 * epoll(7) always reports EPOLLERR. libuv 1.44 takes it for a dead descriptor and stops watching,
 * unless EPOLLERR comes alone and UV_PRIORITIZED is watched. No peer sends urgent data, so the
 * engine watches for it where the error queue is used. Only an EPOLLERR together with other events
 * then costs two epoll_ctl(2). */
static void rearm(struct turn *turn)
{
    const struct connection *connection = turn->connection;
    bool always = !turn->over && !connection->role->relay_buffers; /* a relay may have no room */
    bool uses_error_queue = connection->strategy && connection->strategy->zerocopy;
    bool reads = !connection_has_ended(connection) &&
                 (always || connection->state == STATE_HANDSHAKING || connection->role->wants(connection));

    if (connection->state >= STATE_GREETING && connection->state < STATE_FAILED)
        watch_for(watch_of(turn), (reads ? UV_READABLE : 0) |
                                      (connection->awaits == AWAITS_ROOM ? UV_WRITABLE : 0) |
                                      (uses_error_queue ? UV_PRIORITIZED : 0));
}

/* ---- one connection ---- */

static int push(struct turn *turn)
{
    int result = strategy_push(turn->connection);

    poller_of(watch_of(turn))->unregistered |= result == -EINPROGRESS;
    return result;
}

static void receive(struct watch *watch)
{
    turn_received(&watch->turn, engine_receive_ready(watch->turn.connection));
}

static void on_event_of_end(struct watch *watch, int events)
{
    if (turn_is_half_closing(&watch->turn) && events & UV_WRITABLE)
        turn_half_close(&watch->turn);
    if (events & UV_READABLE)
        turn_continue_end(&watch->turn, engine_receive_end(watch->turn.connection));
}

/* Lent memory has come back, or the socket has an error, which the next call returns. Returns the
 * events to handle besides: none if memory came back and the error came `alone`. */
static int handle_error(struct watch *watch, bool alone)
{
    const struct connection *connection = watch->turn.connection;

    if (turn_reclaim(&watch->turn) <= 0)
        return UV_READABLE | UV_WRITABLE;
    return !alone && connection->role->wants(connection) ? UV_READABLE : 0;
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
        events = handle_error(watch, status == 0);
    if (turns->result < 0)
        return;
    if (turns->finishing) {
        on_event_of_end(watch, events);
        return;
    }
    if (events & UV_WRITABLE && !handshaking)
        watch->turn.connection->awaits = AWAITS_NOTHING;
    if (events & UV_READABLE || handshaking)
        receive(watch);
    else
        turn_continue(&watch->turn, 0);
}

static void on_arrived(struct stream *stream, const uint8_t *data, ssize_t size)
{
    struct watch *watch = (struct watch *)stream;
    struct connection *connection = watch->turn.connection;

    if (watch->turn.turns->result < 0)
        return;
    turn_received(&watch->turn, watch->turn.turns->finishing ? engine_on_end_data(connection, data, size)
                                                             : engine_on_data(connection, data, size));
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

/* ---- connections that reconnect ---- */

static int watch_descriptor(struct watch *watch)
{
    struct connection *connection = watch->turn.connection;
    int result = uv_poll_init(&poller_of(watch)->loop, &watch->poll, connection->calls.fd);

    return result < 0 ? engine_fail(connection, "watch its connection to", result) : 0;
}

static int connect_and_watch(struct turn *turn)
{
    int result = dial_connect(turn->turns->job->dial, turn->connection, true);

    return result < 0 ? result : watch_descriptor(watch_of(turn));
}

/* Receives at once: the first message has probably arrived with the hello. */
static void watch_and_receive(struct turn *turn)
{
    int result = watch_descriptor(watch_of(turn));

    if (result < 0)
        turn->turns->result = result;
    else
        receive(watch_of(turn));
}

static void on_closed(uv_handle_t *handle)
{
    struct watch *watch = (struct watch *)handle;

    watch->handle.loop = NULL;
    turn_released(&watch->turn);
}

/* libuv keeps its handle until the loop has run: only then can the next descriptor be watched. */
static bool forget(struct turn *turn)
{
    struct watch *watch = watch_of(turn);

    watch->events = 0;
    uv_close(&watch->handle, on_closed);
    return true;
}

static void on_acceptor(uv_poll_t *accepting, int status, int events)
{
    struct poller *poller = accepting->data;

    (void)status, (void)events;
    poller->events++;
    acceptor_readable(&poller->acceptor, (size_t)(accepting - poller->accepting));
}

static int open_acceptor(struct poller *poller)
{
    int result = acceptor_open(&poller->acceptor, &poller->turns, true);

    for (size_t i = 0; i < ACCEPTOR_FDS && result == 0; i++) {
        result = uv_poll_init(&poller->loop, &poller->accepting[i], poller->acceptor.fds[i]);
        poller->accepting[i].data = poller;
        if (result == 0)
            result = uv_poll_start(&poller->accepting[i], UV_READABLE, on_acceptor);
    }
    return result;
}

/* ---- the loop ---- */

static void turn_loop(struct poller *poller, uv_run_mode mode)
{
    poller->events = 0;
    poller->unregistered = false;
    uv_run(&poller->loop, mode);
    poller->turns.job->shared->waits.made[CALL_EPOLL_WAIT] += 1 + poller->events / EVENTS_PER_CALL;
}

/* True if the loop must run before the next start is due. */
static bool sleep_until(struct poller *poller, uint64_t due_ns)
{
    struct thread_shared *shared = poller->turns.job->shared;

    if (poller->unregistered || shared->plan->pace == PACE_SPIN)
        return true;
    return due_ns <= shared->now_ns || pause_sleep(shared, uv_backend_fd(&poller->loop), due_ns);
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

static const struct turns_events turns_events = {.connect = connect_and_watch,
                                                 .push = push,
                                                 .take = engine_receive_ready,
                                                 .accepted = watch_and_receive,
                                                 .forget = forget,
                                                 .rearm = rearm,
                                                 .wait = wait_in_loop};

/* ---- from another thread ---- */

static void poll_wake(struct engine_job *job)
{
    struct poller *poller = job->state;

    uv_async_send(&poller->wake);
}

static void on_wake(uv_async_t *wake)
{
    struct poller *poller = wake->data;

    turns_wake(&poller->turns);
}

/* ---- open and close ---- */

static int open_watch(struct poller *poller, size_t index)
{
    struct watch *watch = &poller->watches[index];
    struct connection *connection = &poller->turns.job->connections[index];

    if (connection->reconnects)
        return 0;
    if (connection->strategy && connection->strategy->needs & CAPABLE_LOOP)
        return stream_open(&watch->stream, &poller->loop, connection, &stream_events);
    return uv_poll_init(&poller->loop, &watch->poll, connection->calls.fd);
}

/* libuv makes the writes and the reads of streams. If more may be ready than it takes at once, it
 * also calls epoll_wait(2) uncounted times. */
static int poll_open(struct engine_job *job)
{
    struct poller *poller =
        turns_open(job, &turns_events, sizeof *poller, sizeof(struct watch), offsetof(struct watch, turn));
    int result = uv_loop_init(&poller->loop);

    if (result < 0) {
        turns_close(job);
        return result;
    }
    poller->wake.data = poller;
    if ((result = uv_async_init(&poller->loop, &poller->wake, on_wake)) < 0)
        return result;
    poller->watches = poller->turns.watches;
    for (size_t i = 0; i < job->count; i++) {
        result = open_watch(poller, i);
        if (result < 0)
            return result;
    }
    if (stream_is(job->connections))
        job->shared->uncounted =
            1u << CALL_WRITES | 1u << CALL_READS | (job->count >= EVENTS_PER_CALL ? 1u << CALL_WAITS : 0);
    return job->dial && job->dial->listener >= 0 ? open_acceptor(poller) : 0;
}

static void close_watch(struct watch *watch)
{
    if (!watch->handle.loop || uv_is_closing(&watch->handle))
        return;
    if (stream_is(watch->turn.connection))
        stream_close(&watch->stream);
    else
        uv_close(&watch->handle, NULL);
}

static void poll_close(struct engine_job *job)
{
    struct poller *poller = job->state;

    if (!poller)
        return;
    poller->turns.result = -ECANCELED; /* the callbacks begin nothing new */
    for (size_t i = 0; poller->watches && i < job->count; i++)
        close_watch(&poller->watches[i]);
    for (size_t i = 0; i < ACCEPTOR_FDS; i++)
        if (poller->accepting[i].loop)
            uv_close((uv_handle_t *)&poller->accepting[i], NULL);
    if (poller->wake.loop)
        uv_close((uv_handle_t *)&poller->wake, NULL);
    uv_run(&poller->loop, UV_RUN_DEFAULT);
    uv_loop_close(&poller->loop);
    acceptor_close(&poller->acceptor);
    turns_close(job);
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
