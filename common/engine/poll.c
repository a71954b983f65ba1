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

#include "base/clock.h"
#include "connection/capability.h"
#include "engine/agenda.h"
#include "engine/pause.h"
#include "engine/reception.h"
#include "engine/stream.h"
#include "security/security.h"
#include "strategy/strategy.h"
#include "transport/transport.h"
#include "workload/workload.h"

#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#define PUSHES_PER_TURN 64   /* before the others have their turn */
#define EVENTS_PER_CALL 1024 /* that libuv takes at once; it asks again when there were as many */

struct watch {
    union { /* first: what libuv hands back is the watch */
        uv_handle_t handle;
        uv_poll_t poll;
        struct stream stream;
    };
    struct poller *poller;
    struct connection *connection;
    int events;     /* watched for: UV_READABLE, UV_WRITABLE */
    bool blocked;   /* the descriptor was full, or a request of the stream is under way */
    bool over;      /* out of the phase */
    bool busy;      /* on the list of those that have more to send */
    bool scheduled; /* on the agenda */
    bool closing;   /* its descriptor is gone, libuv does not know yet */
    int next_fd;    /* that came meanwhile; -1 */
    struct watch *next_busy;
};

struct poller {
    uv_loop_t loop;
    uv_async_t wake;
    struct reception reception; /* of a follower whose connections come and go */
    struct duty *duty;
    struct watch *watches;
    size_t open;                     /* connections that are not out of the phase */
    size_t events;                   /* that this turn of the loop brought */
    struct watch *busy, **last_busy; /* have used up their turn */
    struct agenda agenda;            /* of an open loop */
    bool finishing;                  /* half-closed: waiting for the other end's */
    bool unregistered;               /* the loop must turn: watches changed, or a stream was written to */
    int result;
};

static int suits(const struct plan *plan, enum end end, struct problem *problem)
{
    const struct half *half = plan_half(plan, end);

    if (!plan->transport->has_other_end)
        return problem_unsupported(problem,
                                   "engine=poll cannot carry transport=%s: there is no descriptor to watch",
                                   plan->transport->variant.name);
    if (half->renews && plan_strategy(plan, end)->strategy->needs & CAPABLE_LOOP)
        return problem_unsupported(
            problem, "write=%s cannot carry workload=%s: a stream of libuv keeps its descriptor",
            plan_strategy(plan, end)->strategy->variant.name, plan->workload->variant.name);
    if (half->renews && plan_follows(plan, end) && plan->ends[end].threads > 1)
        return problem_unsupported(problem,
                                   "server.threads=%llu: one thread takes all connections of workload=%s",
                                   (unsigned long long)plan->ends[end].threads, plan->workload->variant.name);
    return 0;
}

/* ---- one connection ---- */

static void on_event(uv_poll_t *poll, int status, int events);
static void step(struct watch *watch);

static void watch_for(struct watch *watch, int events)
{
    if (events == watch->events)
        return;
    watch->events = events;
    watch->poller->unregistered = true;
    if (watch->connection->stream)
        stream_read(&watch->stream, events & UV_READABLE); /* it knows itself when it can write */
    else if (events)
        uv_poll_start(&watch->poll, events, on_event);
    else
        uv_poll_stop(&watch->poll);
}

static void leave(struct watch *watch)
{
    watch->over = true;
    watch->poller->open--;
}

static void stop(struct watch *watch, int result)
{
    watch->poller->result = result;
}

/* ---- descriptors that come and go ---- */

static void open_next(struct watch *watch);

static void on_hung_up(uv_handle_t *handle)
{
    struct watch *watch = (struct watch *)handle;

    watch->closing = false;
    watch->handle.loop = NULL;
    if (watch->poller->result < 0)
        return;
    if (watch->next_fd >= 0)
        open_next(watch);
    else if (!watch->over)
        step(watch);
}

/* libuv lets go of a handle when its loop has turned: only then can the next descriptor be watched. */
static void hang_up(struct watch *watch)
{
    watch->closing = true;
    watch->blocked = false;
    watch->events = 0;
    uv_close(&watch->handle, on_hung_up);
    dial_hang_up(watch->poller->duty->dial, watch->connection);
}

static int watch_descriptor(struct watch *watch)
{
    int result = uv_poll_init(&watch->poller->loop, &watch->poll, watch->connection->calls.fd);

    return result < 0 ? engine_broken(watch->connection, "watch its connection to", result) : 0;
}

/* A driver's next descriptor. */
static int redial(struct watch *watch)
{
    int result = dial_out(watch->poller->duty->dial, watch->connection, true);

    return result < 0 ? result : watch_descriptor(watch);
}

/* ---- one connection ---- */

static void await_turn(struct watch *watch)
{
    struct poller *poller = watch->poller;

    if (watch->busy)
        return;
    watch->busy = true;
    watch->next_busy = NULL;
    *poller->last_busy = watch;
    poller->last_busy = &watch->next_busy;
}

static void await_due(struct watch *watch)
{
    uint64_t due_ns = half_next(watch->connection);

    if (watch->scheduled || due_ns == NEVER)
        return;
    watch->scheduled = true;
    agenda_put(&watch->poller->agenda, due_ns, watch);
}

/* Nothing is left to send now. */
static void rest(struct watch *watch)
{
    watch->blocked = false;
    if (watch->connection->half->renews && watch->connection->ended)
        hang_up(watch);
    if (half_over(watch->connection))
        leave(watch);
    else
        await_due(watch);
}

/* One call of the strategy, on a descriptor that may first have to be had. */
static int push_once(struct watch *watch)
{
    struct connection *connection = watch->connection;
    int result = 0;

    if (connection->half->renews && connection->calls.fd < 0)
        result = redial(watch);
    if (result == 0 && connection->greeting_left)
        result = dial_greet(watch->poller->duty->dial, connection);
    return result < 0 ? result : connection->strategy->push(connection);
}

/* Sends what is due, as far as the descriptor takes it. */
static void push(struct watch *watch)
{
    struct connection *connection = watch->connection;

    for (int i = 0; i < PUSHES_PER_TURN && !watch->closing; i++) {
        int result;

        if (queue_is_idle(&connection->queue))
            connection->half->fill(connection);
        if (queue_is_idle(&connection->queue)) {
            rest(watch);
            return;
        }
        result = push_once(watch);
        if (result == -EAGAIN && connection->calls.fd < 0)
            break; /* nothing to be told by: tried again in the next turn */
        if (result == -EAGAIN || result == -EINPROGRESS) {
            watch->blocked = true;
            watch->poller->unregistered |= result == -EINPROGRESS;
            return;
        }
        if (result < 0) {
            stop(watch, engine_broken(connection, "send to", result));
            return;
        }
    }
    if (!watch->closing)
        await_turn(watch);
}

/* One that is out of the phase still takes what comes, if there is anything that it would take: the other end
 * may have to send it before it can go on with another. */
static void watch_again(struct watch *watch)
{
    const struct connection *connection = watch->connection;
    bool has_descriptor = connection->calls.fd >= 0 && !watch->closing;
    bool listens = !watch->over && !connection->half->keeps; /* who keeps may have no room for more */
    bool reads = has_descriptor && !connection->ended && (listens || connection->half->wants(connection));

    if (has_descriptor)
        watch_for(watch, (reads ? UV_READABLE : 0) | (watch->blocked ? UV_WRITABLE : 0));
}

/* That of its twin, NULL where it has none. */
static struct watch *twin_of(struct watch *watch)
{
    const struct connection *connection = watch->connection;

    return connection->twin ? watch + (connection->twin - connection) : NULL;
}

static void step(struct watch *watch)
{
    push(watch);
    watch_again(watch);
    if (twin_of(watch)) /* what was sent on makes room for more */
        watch_again(twin_of(watch));
}

/* Something came: the twin sends it on when all of this turn of the loop has come. */
static int relay(struct watch *watch, int result)
{
    struct watch *twin = twin_of(watch);

    if (twin && !twin->over && !twin->blocked)
        await_turn(twin);
    return result;
}

/* The loop has something for a connection, of which `result` came. */
static void go_on(struct watch *watch, int result)
{
    struct poller *poller = watch->poller;

    if (result < 0 && result != -EAGAIN)
        stop(watch, result);
    if (poller->result == 0 && engine_is_answered(watch->connection))
        hang_up(watch);
    if (poller->result == 0 && !watch->blocked && !watch->over)
        push(watch);
    watch_again(watch);
    if (twin_of(watch))
        watch_again(twin_of(watch));
}

/* The same once it has half-closed: 1 for the other end's half-close. */
static void go_on_to_end(struct watch *watch, int result)
{
    if (result < 0 && result != -EAGAIN)
        stop(watch, result);
    if (result > 0)
        leave(watch);
    watch_again(watch);
}

static int receive(struct watch *watch)
{
    size_t wanted = watch->connection->half->wants(watch->connection);

    if (watch->connection->half->keeps)
        return engine_receive_chunks(watch->connection, watch->connection->window);
    return engine_receive(watch->connection, wanted ? wanted : 1); /* the end, or what was not due */
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = (struct watch *)poll;
    struct poller *poller = watch->poller;

    poller->events++;
    if (status < 0) { /* an error on the socket: libuv has stopped watching, the calls will say which */
        watch->events = 0;
        events = UV_READABLE | UV_WRITABLE;
    }
    if (poller->result < 0)
        return;
    if (poller->finishing) {
        go_on_to_end(watch, engine_take_end(watch->connection));
        return;
    }
    if (events & UV_WRITABLE)
        watch->blocked = false;
    go_on(watch, events & UV_READABLE ? relay(watch, receive(watch)) : 0);
}

static void on_arrived(struct stream *stream, const uint8_t *data, ssize_t size)
{
    struct watch *watch = (struct watch *)stream;

    if (watch->poller->result < 0)
        return;
    if (watch->poller->finishing)
        go_on_to_end(watch, engine_end_arrived(watch->connection, data, size));
    else
        go_on(watch, relay(watch, engine_arrived(watch->connection, data, size)));
}

static void on_written(struct stream *stream, int result)
{
    struct watch *watch = (struct watch *)stream;

    if (watch->poller->result < 0)
        return;
    watch->blocked = false;
    go_on(watch, result < 0 ? engine_broken(watch->connection, "send to", result) : 0);
}

/* A follower's next descriptor: what is said on it has probably come with the hello. */
static void open_next(struct watch *watch)
{
    int result = dial_take(watch->poller->duty->dial, watch->connection, watch->next_fd);

    watch->next_fd = -1;
    if (result < 0)
        engine_broken(watch->connection, "take a connection of", result);
    else
        result = watch_descriptor(watch);
    if (result == 0)
        go_on(watch, receive(watch));
    else
        stop(watch, result);
}

static const struct stream_events stream_events = {.arrived = on_arrived, .written = on_written};

/* ---- the loop ---- */

static void turn(struct poller *poller, uv_run_mode mode)
{
    poller->events = 0;
    poller->unregistered = false;
    uv_run(&poller->loop, mode);
    poller->duty->bench->waits.made[CALL_EPOLL_WAIT] += 1 + poller->events / EVENTS_PER_CALL;
}

static void run_busy(struct poller *poller)
{
    struct watch *watch = poller->busy;

    poller->busy = NULL;
    poller->last_busy = &poller->busy;
    while (watch && poller->result == 0) {
        struct watch *next = watch->next_busy;

        watch->busy = false;
        if (!watch->over && !watch->blocked)
            step(watch);
        watch = next;
    }
}

static void run_due(struct poller *poller)
{
    struct watch *watch;

    poller->duty->bench->now_ns = clock_now_ns();
    while (poller->result == 0 && (watch = agenda_take(&poller->agenda, poller->duty->bench->now_ns))) {
        watch->scheduled = false;
        if (!watch->over && !watch->blocked && !watch->busy)
            step(watch);
    }
}

/* True when the loop has something to do before the next start is due. */
static bool sleep_until_due(struct poller *poller)
{
    uint64_t due_ns = agenda_next(&poller->agenda);
    struct workbench *bench = poller->duty->bench;

    if (poller->unregistered || bench->plan->pace == PACE_SPIN)
        return true;
    return due_ns <= bench->now_ns || pause_sleep(bench, uv_backend_fd(&poller->loop), due_ns);
}

static void advance(struct poller *poller)
{
    run_busy(poller);
    if (!agenda_is_empty(&poller->agenda))
        run_due(poller);
    if (!poller->open || poller->result < 0)
        return;
    if (poller->busy)
        turn(poller, UV_RUN_NOWAIT);
    else if (agenda_is_empty(&poller->agenda))
        turn(poller, UV_RUN_ONCE);
    else if (sleep_until_due(poller))
        turn(poller, UV_RUN_NOWAIT);
}

static void begin(struct poller *poller)
{
    struct workbench *bench = poller->duty->bench;

    poller->result = 0;
    poller->open = poller->duty->count;
    poller->busy = NULL;
    poller->last_busy = &poller->busy;
    agenda_clear(&poller->agenda);
    for (size_t i = 0; i < poller->duty->count; i++) {
        struct watch *watch = &poller->watches[i];

        watch->blocked = watch->over = watch->busy = watch->scheduled = false;
    }
    for (size_t i = 0; i < poller->duty->count && poller->result == 0; i++) {
        bench->now_ns = clock_now_ns();
        step(&poller->watches[i]);
    }
}

static int poll_run(struct duty *duty)
{
    struct poller *poller = duty->state;

    if (workbench_is_cancelled(duty->bench))
        return -ECANCELED;
    begin(poller);
    while (poller->open && poller->result == 0)
        advance(poller);
    return poller->result;
}

static int half_close(struct watch *watch)
{
    struct connection *connection = watch->connection;
    int result = connection->security->finish(connection);

    if (result < 0)
        return engine_broken(connection, "half-close towards", result);
    watch->over = watch->blocked = false;
    watch->poller->open++;
    if (!connection->drives || connection->ended)
        leave(watch);
    watch_again(watch);
    return 0;
}

/* Those that drive, or those that only follow. */
static int finish_those(struct poller *poller, bool drive)
{
    int result = 0;

    for (size_t i = 0; i < poller->duty->count && result == 0; i++)
        if (poller->watches[i].connection->drives == drive)
            result = half_close(&poller->watches[i]);
    while (poller->open && poller->result == 0 && result == 0)
        turn(poller, UV_RUN_ONCE);
    return result < 0 ? result : poller->result;
}

static int poll_finish(struct duty *duty)
{
    struct poller *poller = duty->state;
    int result;

    poller->finishing = true;
    poller->open = 0;
    result = finish_those(poller, true);
    return result < 0 ? result : finish_those(poller, false);
}

/* ---- from another thread ---- */

static void poll_wake(struct duty *duty)
{
    struct poller *poller = duty->state;

    uv_async_send(&poller->wake);
}

/* It may have been for a phase that is over: after the half-close nothing is begun. */
static void on_wake(uv_async_t *wake)
{
    struct poller *poller = wake->data;

    if (workbench_is_cancelled(poller->duty->bench))
        poller->result = -ECANCELED;
    if (poller->finishing)
        return;
    for (size_t i = 0; i < poller->duty->count && poller->result == 0; i++) {
        struct watch *watch = &poller->watches[i];

        if (!watch->over && queue_is_idle(&watch->connection->queue))
            step(watch);
    }
}

/* ---- who comes: the connections of a follower that renews them ---- */

/* The slot may still have its last descriptor, which the other end has closed. */
static void seat(void *owner, size_t number, int fd)
{
    struct poller *poller = owner;
    struct watch *watch = &poller->watches[number];

    if (poller->result < 0 || watch->next_fd >= 0) {
        reception_see_off(&poller->reception, fd);
        return;
    }
    watch->next_fd = fd;
    if (!watch->closing && watch->connection->calls.fd >= 0)
        hang_up(watch);
    if (!watch->closing)
        open_next(watch);
}

static const struct reception_events reception_events = {.seated = seat};

static int open_reception(struct poller *poller)
{
    return reception_open(&poller->reception, &poller->loop, poller->duty, &poller->events, &reception_events,
                          poller);
}

/* ---- its state ---- */

static bool writes_by_stream(const struct connection *connection)
{
    return connection->strategy && connection->strategy->needs & CAPABLE_LOOP;
}

static int open_watch(struct poller *poller, struct watch *watch, struct connection *connection)
{
    watch->poller = poller;
    watch->connection = connection;
    watch->next_fd = -1;
    if (connection->half->renews)
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
    poller->duty = duty;
    poller->wake.data = poller;
    poller->watches = calloc(duty->count, sizeof *poller->watches);
    if (!poller->watches || agenda_open(&poller->agenda, duty->count) < 0 ||
        uv_async_init(&poller->loop, &poller->wake, on_wake) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < duty->count; i++) {
        result = open_watch(poller, &poller->watches[i], &duty->connections[i]);
        if (result < 0)
            return result;
    }
    if (duty->connections->stream)
        leave_uncounted(duty);
    return duty->dial && duty->dial->listener >= 0 ? open_reception(poller) : 0;
}

static void close_watch(struct watch *watch)
{
    if (watch->connection && watch->next_fd >= 0)
        close(watch->next_fd);
    if (!watch->handle.loop || uv_is_closing(&watch->handle))
        return;
    if (watch->connection->stream)
        stream_close(&watch->stream);
    else
        uv_close(&watch->handle, NULL);
}

static void poll_close(struct duty *duty)
{
    struct poller *poller = duty->state;

    if (!poller)
        return;
    poller->result = -ECANCELED; /* nothing is begun any more */
    for (size_t i = 0; poller->watches && i < duty->count; i++)
        close_watch(&poller->watches[i]);
    reception_close(&poller->reception);
    if (poller->wake.loop)
        uv_close((uv_handle_t *)&poller->wake, NULL);
    uv_run(&poller->loop, UV_RUN_DEFAULT);
    uv_loop_close(&poller->loop);
    agenda_close(&poller->agenda);
    free(poller->watches);
    free(poller);
    duty->state = NULL;
}

const struct engine engine_poll = {
    .variant = {"poll", "a libuv loop for each thread, any number of connections"},
    .gives = CAPABLE_LOOP,
    .nonblocking = true,
    .suits = suits,
    .open = poll_open,
    .close = poll_close,
    .wake = poll_wake,
    .run = poll_run,
    .finish = poll_finish,
};
