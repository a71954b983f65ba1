/* SPDX-License-Identifier: MIT */
/* An io_uring for each thread, any number of connections. The connections queue their requests; one
 * io_uring_enter(2) submits them and waits for the next completion. The strategies of io_uring make
 * their requests themselves, and the engine those of its readings. For all others the ring polls
 * the descriptor, and the engine makes nonblocking calls. */
#include "engine/ring_events.h"

#include "base/cleanup.h"
#include "base/files.h"

#include <string.h>

static struct ring_setup setup_of(const struct end_plan *own)
{
    return (struct ring_setup){.defer_taskrun = own->defer_taskrun,
                               .single_issuer = own->single_issuer,
                               .registered_ring = own->registered_ring};
}

#define NOT_USABLE "io_uring cannot be used here: "

/* Tries the setup, until it once succeeds. Only the control thread asks. */
static int check(const struct end_plan *own, struct problem *problem)
{
    static bool known[2][2][2];
    struct ring_setup setup = own ? setup_of(own) : (struct ring_setup){true, true, true, 0};
    bool *works = &known[setup.defer_taskrun][setup.single_issuer][setup.registered_ring];
    struct call_counts counts = {0};
    struct ring *ring;

    if (*works)
        return 0;
    int result = ring_open(&ring, &setup, &counts);
    ring_close(ring);
    *works = result == 0;
    if (*works)
        return 0;
    const char *why = strerror(-result);
    int disabled = 0;
    scan_file("/proc/sys/kernel/io_uring_disabled", 1, "%d", &disabled);
    if (result == -EPERM && disabled)
        return problem_unsupported(problem,
                                   NOT_USABLE "kernel.io_uring_disabled is %d; "
                                              "sysctl -w kernel.io_uring_disabled=0 allows it",
                                   disabled);
    if (result == -EPERM || result == -EACCES)
        return problem_unsupported(
            problem, NOT_USABLE "a policy of this system forbids it (%s), as containers often do", why);
    if (result == -ENOSYS)
        why = "this kernel was built without it";
    else if (result == -EINVAL)
        why = "this kernel rejects the setup; defer_taskrun and single_issuer need Linux 6.1";
    else if (result == -ENOMEM)
        why = "there is no memory, or the limit of locked memory is too low (ulimit -l)";
    return problem_unsupported(problem, NOT_USABLE "%s", why);
}

/* submit() of its transport; all else are nonblocking calls of the socket. */
static int submit(struct connection *connection, const struct send_request *request)
{
    struct ring_slot *slot = connection->transport_state;
    struct ring_buffers *outgoing = &slot->outgoing;
    struct queue_cursor cursor = queue_begin(&connection->queue);
    int result = request->options & SEND_RESTART ? ring_buffers_empty(slot->ring, outgoing) : 0;

    if (result < 0)
        return result;
    for (uint32_t i = 0; i < request->provide; i++) {
        struct fragment fragment = queue_next(&connection->queue, &cursor);
        ring_buffers_add(outgoing, fragment.data, fragment.size, (uint16_t)i, 1);
    }
    if (request->provide)
        ring_buffers_publish(outgoing);
    return ring_send(slot, request);
}

/* ---- one connection ---- */

/* Makes a request of this kind unless one is outstanding. 0 or a negative errno value. */
static int request(struct watch *watch, enum ring_kind kind)
{
    int result = ring_is_outstanding(watch, kind) ? 0 : ring_watch(&watch->slot, kind);
    if (result == 0)
        watch->outstanding |= 1u << kind;
    return result;
}

/* Receives if the role has room. Without a buffer the watch is starved: ring_wait() re-arms it. If a
 * multishot receive may miss the end of the stream, a second request polls for it. */
static int begin_receiving(struct watch *watch)
{
    struct connection *connection = watch->task.connection;
    const struct role *role = connection->role;
    struct ring_engine *engine = (struct ring_engine *)watch->task.loop;
    int result = 0;

    if (!reads_by_ring(connection))
        return task_should_receive(&watch->task) ? request(watch, RING_READABLE) : 0;
    if (connection_has_ended(connection) || (role->has_room && !role->has_room(connection)))
        return 0;
    if (!watch->slot.ending && connection->plan->transport->hides_eof)
        result = request(watch, RING_HALF_CLOSED);
    if (result < 0 || watch->starved)
        return result;
    if (!recv_buffers_left(&engine->recv_buffers)) {
        watch->starved = true;
        watch->next_starved = engine->starved;
        engine->starved = watch;
        return 0;
    }
    result = ring_receive(&watch->slot, connection->reading->options);
    if (result == 0)
        watch->outstanding |= 1u << RING_RECEIVE;
    return result;
}

/* Makes the requests that the connection needs and that are not outstanding. RING_READABLE also
 * completes on errors, so RING_ERROR is not needed besides. */
static void rearm(struct task *task)
{
    struct watch *watch = watch_of(task);
    struct connection *connection = task->connection;
    int result = 0;

    if (connection->state < STATE_GREETING || connection->state == STATE_FAILED)
        return;
    if (!(watch->outstanding & (1u << RING_RECEIVE | 1u << RING_READABLE)))
        result = begin_receiving(watch);
    if (result == 0 && connection->awaits == AWAITS_ROOM)
        result = request(watch, RING_WRITABLE);
    if (result == 0 && engine_has_lent(connection) && !ring_is_outstanding(watch, RING_READABLE))
        result = request(watch, RING_ERROR);
    if (result < 0 && task->loop->result == 0)
        task->loop->result = engine_fail(connection, "watch its connection to", result);
}

/* ---- connections that reconnect ---- */

static void use_descriptor(struct watch *watch)
{
    watch->slot.file = watch->task.connection->calls.fd;
    watch->slot.ending = false;
}

static int begin_connect(struct task *task)
{
    struct watch *watch = watch_of(task);
    struct dial *dial = task->loop->job->dial;
    int result = dial_open(dial, task->connection);
    if (result < 0)
        return result;
    use_descriptor(watch);
    result = ring_connect(&watch->slot, &dial->target->any, dial->target->size);
    watch->outstanding |= 1u << RING_CONNECT;
    return result < 0 ? result : -EINPROGRESS;
}

static void watch_accepted(struct task *task)
{
    use_descriptor(watch_of(task));
    rearm(task);
}

/* Cancels all requests. The socket stays open until they complete. */
static bool unwatch(struct task *task)
{
    struct watch *watch = watch_of(task);
    for (unsigned kind = 0; kind < RING_WAKE; kind++)
        if (ring_is_outstanding(watch, kind))
            ring_cancel(&watch->slot, kind);
    return watch->outstanding;
}

static void wake_ring(struct engine_job *job)
{
    ring_wake(((struct ring_engine *)job->state)->ring);
}

/* ---- open and close ---- */

/* All later requests name the descriptors by index (IOSQE_FIXED_FILE). */
static int register_files(struct ring_engine *engine)
{
    struct watch *watches = engine->loop.watches;
    size_t count = engine->loop.job->count;
    CLEANUP_FREE int *fds = calloc(count, sizeof *fds);

    if (!fds)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        fds[i] = watches[i].slot.file;
    int result = ring_register_files(engine->ring, fds, (uint32_t)count);
    for (size_t i = 0; i < count && result == 0; i++) {
        watches[i].slot.file = (int)i;
        watches[i].slot.registered = true;
    }
    return result;
}

#define COMPLETIONS_LEAST 4096u

static int open_ring(struct engine_job *job)
{
    struct ring_engine *engine = event_loop_open(job, sizeof *engine, sizeof(struct watch));
    const struct end_plan *own = &job->shared->plan->ends[job->shared->end];
    struct ring_setup setup = setup_of(own);

    if (!engine)
        return -ENOMEM;
    /* one for each buffer, and four for each connection; the kernel rounds up, and clamps */
    uint32_t completions = (uint32_t)(4 * job->count + job->shared->pool.count);
    setup.completions = completions > COMPLETIONS_LEAST ? completions : COMPLETIONS_LEAST;
    int result = ring_open(&engine->ring, &setup, &job->shared->waits);
    if (result == 0 && reads_by_ring(job->connections))
        result = recv_buffers_open(&engine->recv_buffers, engine->ring, &job->shared->pool);
    for (uint32_t i = 0; i < job->count && result == 0; i++) {
        struct connection *connection = &job->connections[i];
        const struct strategy *strategy = connection->strategy;
        struct ring_slot *slot = &watch_of(event_loop_task(&engine->loop, i))->slot;
        *slot = (struct ring_slot){.ring = engine->ring,
                                   .number = i,
                                   .file = connection->calls.fd,
                                   .recv_buffers = &engine->recv_buffers};
        connection->submit = submit;
        connection->transport_state = slot;
        connection->calls.flags = MSG_DONTWAIT; /* with O_NONBLOCK the ring would not wait */
        if (strategy && strategy->buffers)
            result = ring_buffers_open(engine->ring, &slot->outgoing, (uint16_t)(i + 1),
                                       strategy->buffers(connection->strategy_parameter));
    }
    if (result == 0)
        result = event_loop_open_acceptor(&engine->loop);
    for (uint32_t i = 0; i < engine->loop.acceptor.count && result == 0; i++) {
        engine->accepting[i] = (struct ring_slot){
            .ring = engine->ring, .number = (uint32_t)job->count + i, .file = engine->loop.acceptor.fds[i]};
        result = ring_watch(&engine->accepting[i], RING_READABLE);
    }
    return result == 0 && own->fixed_files && !job->dial ? register_files(engine) : result;
}

static void close_ring(struct engine_job *job)
{
    struct ring_engine *engine = job->state;
    if (!engine)
        return;
    ring_close(engine->ring);
    recv_buffers_close(&engine->recv_buffers);
    for (size_t i = 0; i < job->count; i++)
        ring_buffers_close(&watch_of(event_loop_task(&engine->loop, i))->slot.outgoing);
    event_loop_close(job);
}

const struct engine engine_ring = {
    .variant = {"ring", "an io_uring for each thread, any number of connections"},
    .gives = CAPABLE_RING,
    .check = check,
    .open = open_ring,
    .close = close_ring,
    .wake = wake_ring,
    .wait = ring_wait,
    .rearm = rearm,
    .connect = begin_connect,
    .accepted = watch_accepted,
    .unwatch = unwatch,
};
