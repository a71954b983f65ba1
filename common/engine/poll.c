/* SPDX-License-Identifier: MIT */
/* A libuv loop for each thread, any number of connections. It watches for UV_WRITABLE only after
 * EAGAIN, so neither a server that replies to each request nor a full stream needs epoll_ctl(2). A
 * strategy may write through a libuv stream: only watch_for() and the callbacks of libuv differ. */
#include "engine/event_loop.h"

#include "base/program.h"
#include "engine/stream.h"

#define EVENTS_PER_CALL 1024 /* by libuv: with that many events it calls epoll_wait(2) again */

struct watch {
    struct task task; /* first */
    int events;       /* wanted: UV_READABLE, UV_WRITABLE, UV_PRIORITIZED */
    union {           /* libuv passes it to the callbacks */
        uv_handle_t handle;
        uv_poll_t poll;
        struct stream stream;
    };
};

struct poller {
    struct event_loop loop; /* first */
    uv_loop_t uv_loop;
    uv_async_t wake;
    uv_poll_t accepting[2]; /* the descriptors of the acceptor */
    size_t events;          /* in this iteration of the loop */
};

static struct watch *watch_of(struct task *task)
{
    return (struct watch *)task;
}

static struct watch *watch_of_handle(void *handle)
{
    return (struct watch *)((char *)handle - offsetof(struct watch, handle));
}

/* UV_PRIORITIZED, or an error: lent memory has come back, or the socket has an error, which the
 * next call returns. If memory came back and no other event came, there is nothing to receive. */
static void on_event(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = watch_of_handle(poll);
    struct task *task = &watch->task;
    struct connection *connection = task->connection;
    bool handshaking = connection->state == STATE_HANDSHAKING;

    ((struct poller *)task->loop)->events++;
    if (status < 0) /* libuv has stopped watching */
        watch->events = 0;
    if (status < 0 || events & UV_PRIORITIZED) {
        if (task_reclaim(task) <= 0)
            events = UV_READABLE | UV_WRITABLE;
        else
            events = status < 0 && connection->role->wants(connection) ? UV_READABLE : 0;
    }
    if (task->loop->result < 0)
        return;
    if (events & UV_WRITABLE)
        task_writable(task);
    if (events & UV_READABLE || handshaking)
        task_received(task, engine_receive_ready(connection));
    else
        task_continue(task, 0);
}

static void watch_for(struct watch *watch, int events)
{
    if (events == watch->events)
        return;
    watch->events = events;
    watch->task.loop->changed = true;
    if (stream_is_used_by(watch->task.connection))
        stream_read(&watch->stream, events & UV_READABLE); /* libuv watches for POLLOUT */
    else if (events)
        uv_poll_start(&watch->poll, events, on_event);
    else
        uv_poll_stop(&watch->poll);
}

/* epoll(7) always reports EPOLLERR. libuv 1.44 treats it as a dead descriptor and stops watching,
 * unless it comes alone and UV_PRIORITIZED is wanted: so it is, if the strategy uses the error
 * queue. No peer sends urgent data. EPOLLERR with other events then costs two epoll_ctl(2). */
static void rearm(struct task *task)
{
    const struct connection *connection = task->connection;
    /* epoll(7) always reports EPOLLHUP of a closed connection: only lent memory keeps its watch. */
    bool uses_error_queue = connection->strategy && connection->strategy->zerocopy &&
                            (connection->state != STATE_CLOSED || engine_has_lent(connection));
    if (connection->state >= STATE_GREETING && connection->state < STATE_FAILED)
        watch_for(watch_of(task), (task_should_receive(task) ? UV_READABLE : 0) |
                                      (connection->awaits == AWAITS_ROOM ? UV_WRITABLE : 0) |
                                      (uses_error_queue ? UV_PRIORITIZED : 0));
}

static void on_arrived(struct stream *stream, const uint8_t *data, ssize_t size)
{
    struct task *task = &watch_of_handle(stream)->task;
    if (task->loop->result == 0)
        task_received(task, engine_on_data(task->connection, data, size));
}

static void on_written(struct stream *stream, int result)
{
    struct task *task = &watch_of_handle(stream)->task;
    if (task->loop->result < 0)
        return;
    task->connection->awaits = AWAITS_NOTHING;
    task_continue(task, result < 0 ? engine_fail(task->connection, "send to", result) : 0);
}

static const struct stream_events stream_events = {.arrived = on_arrived, .written = on_written};

static int watch_descriptor(struct task *task)
{
    struct connection *connection = task->connection;
    struct watch *watch = watch_of(task);
    uv_loop_t *loop = &((struct poller *)task->loop)->uv_loop;
    bool streams = connection->strategy && connection->strategy->needs & CAPABLE_LIBUV;
    int result = streams ? stream_open(&watch->stream, loop, connection, &stream_events)
                         : uv_poll_init(loop, &watch->poll, connection->calls.fd);
    return result < 0 ? engine_fail(connection, "watch its connection to", result) : 0;
}

/* ---- connections that reconnect ---- */

static int connect_and_watch(struct task *task)
{
    int result = dial_connect(task->loop->job->dial, task->connection);
    return result < 0 ? result : watch_descriptor(task);
}

/* Receives at once, because the first message has probably arrived with the hello. */
static void watch_and_receive(struct task *task)
{
    int result = watch_descriptor(task);
    if (result < 0)
        task->loop->result = result;
    else
        task_received(task, engine_receive_ready(task->connection));
}

static void on_closed(uv_handle_t *handle)
{
    task_released(&watch_of_handle(handle)->task);
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
    poller->events++;
    event_loop_accept(&poller->loop, (size_t)(accepting - poller->accepting));
}

/* ---- the loop ---- */

/* Sleeps until the next timer is due, or runs the libuv loop: also if it must register watches. */
static void wait_in_loop(struct event_loop *loop)
{
    struct poller *poller = (struct poller *)loop;
    struct thread_shared *shared = loop->job->shared;
    uint64_t due_ns = timers_next(&loop->timers);
    bool blocks = event_loop_is_finishing(loop) || (TAILQ_EMPTY(&loop->ready) && due_ns == NEVER);
    bool sleeps = !blocks && TAILQ_EMPTY(&loop->ready) && !loop->changed && shared->plan->pace != PACE_SPIN &&
                  due_ns > shared->now_ns;

    if (sleeps && !pause_until(shared, uv_backend_fd(&poller->uv_loop), due_ns))
        return;
    poller->events = 0;
    loop->changed = false;
    uv_run(&poller->uv_loop, blocks ? UV_RUN_ONCE : UV_RUN_NOWAIT);
    shared->waits.made[CALL_EPOLL_WAIT] += 1 + poller->events / EVENTS_PER_CALL;
}

static void on_wake(uv_async_t *wake)
{
    event_loop_wake(wake->data);
}

static void poll_wake(struct engine_job *job)
{
    uv_async_send(&((struct poller *)job->state)->wake);
}

/* ---- open and close ---- */

/* libuv makes the writes and reads of streams, so they are not counted. Neither are the waits if
 * more descriptors may be ready than libuv handles in one epoll_wait(2). */
static int poll_open(struct engine_job *job)
{
    struct poller *poller = event_loop_open(job, sizeof *poller, sizeof(struct watch));
    int result = poller ? loop_init(&poller->uv_loop) : -ENOMEM;

    if (result < 0) {
        event_loop_close(job);
        return result;
    }
    poller->wake.data = poller;
    result = uv_async_init(&poller->uv_loop, &poller->wake, on_wake);
    struct task *highest = event_loop_task(&poller->loop, 0);
    for (size_t i = 0; i < job->count && result == 0 && !job->connections->reconnects; i++) {
        struct task *task = event_loop_task(&poller->loop, i);
        result = watch_descriptor(task);
        if (task->connection->calls.fd > highest->connection->calls.fd)
            highest = task;
    }
    if (stream_is_used_by(job->connections))
        job->shared->uncounted =
            1u << CALL_WRITES | 1u << CALL_READS | (job->count >= EVENTS_PER_CALL ? 1u << CALL_WAITS : 0);
    if (result == 0 && !job->connections->reconnects) {
        /* grows the table of the loop, while the thread can still return an error */
        if (!sockets_can_watch(highest->connection->calls.fd))
            return -ENOMEM;
        watch_for(watch_of(highest), UV_READABLE);
        watch_for(watch_of(highest), 0);
    }
    if (result == 0)
        result = event_loop_open_acceptor(&poller->loop);
    for (size_t i = 0; i < poller->loop.acceptor.count && result == 0; i++) {
        uv_poll_t *accepting = &poller->accepting[i];
        result = uv_poll_init(&poller->uv_loop, accepting, poller->loop.acceptor.fds[i]);
        accepting->data = poller;
        if (result == 0)
            result = uv_poll_start(accepting, UV_READABLE, on_acceptor);
    }
    return result;
}

static void close_handle(uv_handle_t *handle, void *ignored)
{
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void poll_close(struct engine_job *job)
{
    struct poller *poller = job->state;

    if (!poller)
        return;
    poller->loop.result = -ECANCELED; /* the callbacks begin nothing new */
    for (size_t i = 0; i < job->count; i++)
        if (stream_is_used_by(&job->connections[i]))
            stream_close(job->connections[i].transport_state);
    uv_walk(&poller->uv_loop, close_handle, NULL);
    uv_run(&poller->uv_loop, UV_RUN_DEFAULT);
    uv_loop_close(&poller->uv_loop);
    event_loop_close(job);
}

const struct engine engine_poll = {
    .variant = {"poll", "a libuv loop for each thread, any number of connections"},
    .gives = CAPABLE_LIBUV | CAPABLE_BLOCKING_MODE,
    .nonblocking = true,
    .open = poll_open,
    .close = poll_close,
    .wake = poll_wake,
    .wait = wait_in_loop,
    .rearm = rearm,
    .connect = connect_and_watch,
    .accepted = watch_and_receive,
    .unwatch = unwatch,
};
