/* SPDX-License-Identifier: MIT */
/* A libuv loop for each thread, any number of connections.
 *
 * The engine writes first and watches for UV_WRITABLE only after EAGAIN, until the queue is empty.
 * So a server that replies to each request needs no epoll_ctl(2). A stream that often fills its
 * socket needs none either.
 *
 * The engine watches the descriptor (uv_poll_t). If the strategy writes through a libuv stream, the
 * engine watches that stream instead. Only watch_for() and the libuv callbacks differ. */
#include "engine/event_loop.h"

#include "engine/acceptor.h"
#include "engine/pause.h"
#include "engine/stream.h"
#include "net/sockets.h"

#include <uv.h>

#define EVENTS_PER_CALL 1024 /* by libuv: with that many events it calls epoll_wait(2) again */

struct watch {
    union { /* first: libuv passes it to the callbacks */
        uv_handle_t handle;
        uv_poll_t poll;
        struct stream stream;
    };
    struct task task;
    int events; /* wanted: UV_READABLE, UV_WRITABLE, UV_PRIORITIZED */
};

struct poller {
    struct event_loop loop; /* first */
    uv_loop_t uv_loop;
    uv_async_t wake;
    struct acceptor acceptor; /* of a follower that reconnects */
    uv_poll_t accepting[ACCEPTOR_FDS];
    size_t events;     /* in this iteration of the loop */
    bool unregistered; /* the loop must run: watches changed, or a stream was written to */
};

static struct watch *watch_of(struct task *task)
{
    return (struct watch *)((char *)task - offsetof(struct watch, task));
}

static struct poller *poller_of(const struct watch *watch)
{
    return (struct poller *)watch->task.loop;
}

/* ---- watched events ---- */

static void on_event(uv_poll_t *poll, int status, int events);

static void watch_for(struct watch *watch, int events)
{
    if (events == watch->events)
        return;
    watch->events = events;
    poller_of(watch)->unregistered = true;
    if (stream_is_used_by(watch->task.connection))
        stream_read(&watch->stream, events & UV_READABLE); /* libuv watches for POLLOUT */
    else if (events)
        uv_poll_start(&watch->poll, events, on_event);
    else
        uv_poll_stop(&watch->poll);
}

/* A connection that has finished the phase still receives what its role wants. The reason: the peer
 * may have to send that before it continues with another connection.
 *
 * epoll(7) always reports EPOLLERR. libuv 1.44 treats it as a dead descriptor and stops watching,
 * unless EPOLLERR comes alone and UV_PRIORITIZED is wanted. So the engine wants UV_PRIORITIZED if
 * the strategy uses the error queue; no peer sends urgent data. Only an EPOLLERR together with
 * other events then costs two epoll_ctl(2). */
static void rearm(struct task *task)
{
    const struct connection *connection = task->connection;
    bool always = !task->over && !connection->role->relay_buffers; /* a relay may have no room */
    /* epoll(7) always reports EPOLLHUP of a closed connection: only lent memory keeps its watch. */
    bool uses_error_queue = connection->strategy && connection->strategy->zerocopy &&
                            (connection->state != STATE_CLOSED || engine_has_lent(connection));
    bool reads = !connection_has_ended(connection) &&
                 (always || connection->state == STATE_HANDSHAKING || connection->role->wants(connection));

    if (connection->state >= STATE_GREETING && connection->state < STATE_FAILED)
        watch_for(watch_of(task), (reads ? UV_READABLE : 0) |
                                      (connection->awaits == AWAITS_ROOM ? UV_WRITABLE : 0) |
                                      (uses_error_queue ? UV_PRIORITIZED : 0));
}

/* ---- one connection ---- */

static int push(struct task *task)
{
    int result = strategy_push(task->connection);

    poller_of(watch_of(task))->unregistered |= result == -EINPROGRESS;
    return result;
}

static void receive(struct watch *watch)
{
    task_received(&watch->task, engine_receive_ready(watch->task.connection));
}

/* Lent memory has come back, or the socket has an error, which the next call returns. Returns
 * the events that are still to be handled: none if memory came back and the error event came
 * `alone`. */
static int handle_error(struct watch *watch, bool alone)
{
    const struct connection *connection = watch->task.connection;

    if (task_reclaim(&watch->task) <= 0)
        return UV_READABLE | UV_WRITABLE;
    return !alone && connection->role->wants(connection) ? UV_READABLE : 0;
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = (struct watch *)poll;
    struct event_loop *loop = watch->task.loop;
    bool handshaking = watch->task.connection->state == STATE_HANDSHAKING;

    poller_of(watch)->events++;
    if (status < 0) /* libuv has stopped watching */
        watch->events = 0;
    if (status < 0 || events & UV_PRIORITIZED)
        events = handle_error(watch, status == 0);
    if (loop->result < 0)
        return;
    if (events & UV_WRITABLE && task_is_half_closing(&watch->task))
        task_half_close(&watch->task);
    else if (events & UV_WRITABLE && !handshaking)
        watch->task.connection->awaits = AWAITS_NOTHING;
    if (events & UV_READABLE || handshaking)
        receive(watch);
    else
        task_continue(&watch->task, 0);
}

static void on_arrived(struct stream *stream, const uint8_t *data, ssize_t size)
{
    struct watch *watch = (struct watch *)stream;

    if (watch->task.loop->result == 0)
        task_received(&watch->task, engine_on_data(watch->task.connection, data, size));
}

static void on_written(struct stream *stream, int result)
{
    struct watch *watch = (struct watch *)stream;

    if (watch->task.loop->result < 0)
        return;
    watch->task.connection->awaits = AWAITS_NOTHING;
    task_continue(&watch->task, result < 0 ? engine_fail(watch->task.connection, "send to", result) : 0);
}

static const struct stream_events stream_events = {.arrived = on_arrived, .written = on_written};

/* ---- connections that reconnect ---- */

static int watch_descriptor(struct watch *watch)
{
    struct connection *connection = watch->task.connection;
    int result = uv_poll_init(&poller_of(watch)->uv_loop, &watch->poll, connection->calls.fd);

    return result < 0 ? engine_fail(connection, "watch its connection to", result) : 0;
}

static int connect_and_watch(struct task *task)
{
    int result = dial_connect(task->loop->job->dial, task->connection, true);

    return result < 0 ? result : watch_descriptor(watch_of(task));
}

/* Receives at once, because the first message has probably arrived with the hello. */
static void watch_and_receive(struct task *task)
{
    int result = watch_descriptor(watch_of(task));

    if (result < 0)
        task->loop->result = result;
    else
        receive(watch_of(task));
}

static void on_closed(uv_handle_t *handle)
{
    struct watch *watch = (struct watch *)handle;

    watch->handle.loop = NULL;
    task_released(&watch->task);
}

/* libuv uses the handle until its loop has run. Only then can it watch the next descriptor. */
static bool unwatch(struct task *task)
{
    struct watch *watch = watch_of(task);

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
    int result = acceptor_open(&poller->acceptor, &poller->loop, true);

    for (size_t i = 0; i < ACCEPTOR_FDS && result == 0; i++) {
        result = uv_poll_init(&poller->uv_loop, &poller->accepting[i], poller->acceptor.fds[i]);
        poller->accepting[i].data = poller;
        if (result == 0)
            result = uv_poll_start(&poller->accepting[i], UV_READABLE, on_acceptor);
    }
    return result;
}

/* ---- the loop ---- */

static void run_uv_loop(struct poller *poller, uv_run_mode mode)
{
    poller->events = 0;
    poller->unregistered = false;
    uv_run(&poller->uv_loop, mode);
    poller->loop.job->shared->waits.made[CALL_EPOLL_WAIT] += 1 + poller->events / EVENTS_PER_CALL;
}

/* Returns true if the libuv loop must run before the next timer is due. */
static bool sleep_until(struct poller *poller, uint64_t due_ns)
{
    struct thread_shared *shared = poller->loop.job->shared;

    if (poller->unregistered || shared->plan->pace == PACE_SPIN)
        return true;
    return due_ns <= shared->now_ns || pause_sleep(shared, uv_backend_fd(&poller->uv_loop), due_ns);
}

static void wait_in_loop(struct event_loop *loop)
{
    struct poller *poller = (struct poller *)loop;
    uint64_t due_ns = timers_next(&loop->timers);

    if (event_loop_is_finishing(loop) || (!loop->ready && due_ns == NEVER))
        run_uv_loop(poller, UV_RUN_ONCE);
    else if (loop->ready || sleep_until(poller, due_ns))
        run_uv_loop(poller, UV_RUN_NOWAIT);
}

static const struct event_loop_backend backend = {.connect = connect_and_watch,
                                                  .push = push,
                                                  .take = engine_receive_ready,
                                                  .accepted = watch_and_receive,
                                                  .unwatch = unwatch,
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

    event_loop_wake(&poller->loop);
}

/* ---- open and close ---- */

static int open_watch(struct poller *poller, struct watch *watch)
{
    struct connection *connection = watch->task.connection;

    if (connection->reconnects)
        return 0;
    if (connection->strategy && connection->strategy->needs & CAPABLE_LIBUV)
        return stream_open(&watch->stream, &poller->uv_loop, connection, &stream_events);
    return uv_poll_init(&poller->uv_loop, &watch->poll, connection->calls.fd);
}

/* Grows the table of the loop, while the thread can still return an error. */
static int reserve_table(struct poller *poller)
{
    struct watch *highest = NULL;

    for (size_t i = 0; i < poller->loop.job->count; i++) {
        struct watch *watch = watch_of(poller->loop.tasks[i]);

        if (!highest || watch->task.connection->calls.fd > highest->task.connection->calls.fd)
            highest = watch;
    }
    if (highest->task.connection->reconnects)
        return 0;
    if (!sockets_can_watch(highest->task.connection->calls.fd))
        return -ENOMEM;
    watch_for(highest, UV_READABLE);
    watch_for(highest, 0);
    return 0;
}

/* libuv makes the writes and reads of streams, so they are not counted. Neither are the waits if
 * more descriptors may be ready than libuv handles in one epoll_wait(2). */
static int poll_open(struct engine_job *job)
{
    struct poller *poller =
        event_loop_open(job, &backend, sizeof *poller, sizeof(struct watch), offsetof(struct watch, task));
    int result = poller ? uv_loop_init(&poller->uv_loop) : -ENOMEM;

    if (result < 0) {
        event_loop_close(job);
        return result;
    }
    poller->wake.data = poller;
    if ((result = uv_async_init(&poller->uv_loop, &poller->wake, on_wake)) < 0)
        return result;
    for (size_t i = 0; i < job->count; i++)
        if ((result = open_watch(poller, watch_of(poller->loop.tasks[i]))) < 0)
            return result;
    if (stream_is_used_by(job->connections))
        job->shared->uncounted =
            1u << CALL_WRITES | 1u << CALL_READS | (job->count >= EVENTS_PER_CALL ? 1u << CALL_WAITS : 0);
    if ((result = reserve_table(poller)) < 0)
        return result;
    return job->dial && job->dial->listener >= 0 ? open_acceptor(poller) : 0;
}

static void close_watch(struct watch *watch)
{
    if (!watch->handle.loop || uv_is_closing(&watch->handle))
        return;
    if (stream_is_used_by(watch->task.connection))
        stream_close(&watch->stream);
    else
        uv_close(&watch->handle, NULL);
}

static void poll_close(struct engine_job *job)
{
    struct poller *poller = job->state;

    if (!poller)
        return;
    poller->loop.result = -ECANCELED; /* the callbacks begin nothing new */
    for (size_t i = 0; i < job->count; i++)
        close_watch(watch_of(poller->loop.tasks[i]));
    for (size_t i = 0; i < ACCEPTOR_FDS; i++)
        if (poller->accepting[i].loop)
            uv_close((uv_handle_t *)&poller->accepting[i], NULL);
    if (poller->wake.loop)
        uv_close((uv_handle_t *)&poller->wake, NULL);
    uv_run(&poller->uv_loop, UV_RUN_DEFAULT);
    uv_loop_close(&poller->uv_loop);
    acceptor_close(&poller->acceptor);
    event_loop_close(job);
}

const struct engine engine_poll = {
    .variant = {"poll", "a libuv loop for each thread, any number of connections"},
    .gives = CAPABLE_LIBUV | CAPABLE_BLOCKING_MODE,
    .nonblocking = true,
    .open = poll_open,
    .close = poll_close,
    .wake = poll_wake,
};
