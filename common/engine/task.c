/* SPDX-License-Identifier: MIT */
/* What a task of an event loop does next, and the descriptors of connections that reconnect. */
#include "engine/event_loop.h"

#define PUSHES_PER_TURN 64 /* then the other ready tasks run */

static void finish_phase(struct task *task)
{
    task->over = true;
    task->loop->unfinished--;
}

static void make_ready(struct task *task)
{
    if (task->ready)
        return;
    task->ready = true;
    TAILQ_INSERT_TAIL(&task->loop->ready, task, others);
}

/* ---- descriptors of connections that reconnect ---- */

int dial_fail(const struct dial *dial, struct connection *connection, int result)
{
    struct problem *problem = &connection->shared->problem;
    if (result == -ECANCELED)
        problem_failure(problem, "the run was ended");
    else
        address_refused(dial->target, -result, problem);
    lifecycle_advance(&connection->state, EVENT_BROKEN);
    return result;
}

int dial_open(struct dial *dial, struct connection *connection)
{
    const struct plan *plan = connection->plan;
    bool blocking = !plan->ends[connection->end].engine->nonblocking;
    int fd = sockets_make(dial->target->storage.ss_family, SOCK_STREAM, plan->transport->protocol, blocking);
    int result = fd < 0 ? -errno : dial->adopt(dial->owner, connection, fd);

    connection->calls.counts.made[CALL_SOCKET]++;
    lifecycle_advance(&connection->state, EVENT_CONNECT);
    connection->hello_left = plan_is_foreign(plan) ? 0 : HELLO_SIZE;
    connection_restart_loans(connection);
    if (result == 0)
        result = transport_prepare_again(plan, connection->end, &connection->calls, true);
    return result < 0 ? dial_fail(dial, connection, result) : 0;
}

/* A driver first sends close_notify: all requests were answered, so the socket buffer has room. */
static void dial_close(struct dial *dial, struct connection *connection)
{
    if (connection->drives && connection->filter_state && connection_is_open(connection))
        security_close_notify(connection);
    security_end(connection);
    connection->calls.counts.made[CALL_CLOSE]++;
    dial->drop(dial->owner, connection);
    lifecycle_advance(&connection->state, EVENT_DROPPED);
}

int dial_connect(struct dial *dial, struct connection *connection)
{
    int result = dial_open(dial, connection);

    if (result < 0)
        return result;
    connection->calls.counts.made[CALL_CONNECT]++;
    if (connect(connection->calls.fd, &dial->target->any, dial->target->size) < 0 && errno != EINPROGRESS)
        result = -errno;
    if (result == -EAGAIN) {
        dial_close(dial, connection);
        lifecycle_advance(&connection->state, EVENT_RELEASED);
        return result;
    }
    if (result < 0)
        return dial_fail(dial, connection, result);
    lifecycle_advance(&connection->state, EVENT_CONNECTED);
    return 0;
}

/* Sends the rest of the hello with MSG_MORE, and opens the filter. 0 or a negative errno value. */
NOT_INLINE static int dial_send_hello(const struct dial *dial, struct connection *connection)
{
    uint8_t hello[HELLO_SIZE];
    hello_make(hello, dial->token, connection->number);
    while (connection->hello_left) {
        ssize_t sent = calls_send(&connection->calls, hello + HELLO_SIZE - connection->hello_left,
                                  connection->hello_left, MSG_MORE);
        if (sent < 0)
            return (int)sent;
        connection->hello_left -= (uint32_t)sent;
    }
    return security_begin(connection);
}

static void close_descriptor(struct task *task)
{
    struct connection *connection = task->connection;
    const struct engine *engine = task->loop->engine;
    bool outstanding = engine->unwatch && engine->unwatch(task);
    dial_close(task->loop->job->dial, connection);
    connection->awaits = outstanding ? AWAITS_EVENT : AWAITS_NOTHING;
    if (!outstanding)
        lifecycle_advance(&connection->state, EVENT_RELEASED);
}

static void use_next_descriptor(struct task *task)
{
    struct event_loop *loop = task->loop;
    struct dial *dial = loop->job->dial;
    struct connection *connection = task->connection;
    int result = dial->adopt(dial->owner, connection, task->next_fd);

    connection_restart_loans(connection);
    if (result == 0)
        result = transport_prepare_again(connection->plan, connection->end, &connection->calls, false);
    if (result == 0 && !dial->proved &&
        transport_check_connection(connection->plan, connection->end, task->next_fd,
                                   &connection->shared->problem) < 0)
        result = -EPROTONOSUPPORT;
    dial->proved = true;
    if (result == 0)
        result = security_begin(connection);
    task->next_fd = -1;
    if (result < 0)
        loop->result = engine_fail(connection, "accept a connection from", result);
    else
        loop->engine->accepted(task);
}

/* Closes the descriptor of a follower if its stream has ended or its driver has connected again.
 * Then uses the next one, if it was accepted. */
static void close_if_ended(struct task *task)
{
    const struct connection *connection = task->connection;
    if ((connection_has_ended(connection) || task->next_fd >= 0) && connection->calls.fd >= 0 &&
        !engine_has_lent(connection))
        close_descriptor(task);
    if (task->next_fd >= 0 && connection->state == STATE_UNOPENED)
        use_next_descriptor(task);
}

/* Closes the descriptor of a driver that has all replies, and of a follower whose phase is over
 * when its stream has ended. */
static inline void close_if_done(struct task *task)
{
    const struct connection *connection = task->connection;
    if (!connection->reconnects || !connection_is_open(connection))
        return;
    if ((task->over && connection_has_ended(connection)) ||
        (connection->drives && queue_is_idle(&connection->queue) && !engine_has_lent(connection) &&
         !connection->role->wants(connection)))
        close_descriptor(task);
}

/* Completes a silent request, if what was received proves its delivery: see request_describe(). */
static void on_reply(struct task *task)
{
    struct connection *connection = task->connection;
    if (!connection->request.in_flight || !connection->request.silent ||
        (connection->drives && connection->role->wants(connection)))
        return;
    queue_accept(&connection->queue, connection->request.bytes);
    queue_release(&connection->queue);
    queue_flush(&connection->queue);
    connection->request = (struct request){0};
    connection->awaits = AWAITS_NOTHING;
}

/* The connection may still have its previous descriptor: the driver has closed it, and connects
 * again only when the last reply is complete. */
bool task_accepted(void *owner, const uint8_t *hello, int fd)
{
    struct event_loop *loop = owner;
    int64_t number = hello_read(hello, loop->job->dial->token, loop->job->count);
    if (number < 0 || loop->result < 0 || event_loop_task(loop, (size_t)number)->next_fd >= 0)
        return false;
    struct task *task = event_loop_task(loop, (size_t)number);
    task->next_fd = fd;
    on_reply(task);
    close_if_ended(task);
    return true;
}

void task_released(struct task *task)
{
    task->connection->awaits = AWAITS_NOTHING;
    if (task->loop->result < 0)
        return;
    lifecycle_advance(&task->connection->state, EVENT_RELEASED);
    if (task->next_fd >= 0)
        use_next_descriptor(task);
    else if (!task->over)
        task_send_due(task);
}

/* ---- sending ---- */

/* The queue is idle. Waits for lent memory if the queue has no room, or if the next message may not
 * begin. The phase is over only when all memory is back. */
static void on_idle(struct task *task)
{
    struct connection *connection = task->connection;
    bool lent = connection->queue.released != connection->queue.appended;

    if (connection->reconnects)
        close_if_ended(task);
    if (lent && (!connection_room(connection) || !engine_may_fill(connection)))
        return;
    if (!lent && role_is_over(connection)) {
        finish_phase(task);
        return;
    }
    uint64_t due_ns = task->has_timer ? NEVER : role_next(connection);
    if (due_ns == NEVER)
        return;
    task->has_timer = true;
    timers_add(&task->loop->timers, due_ns, task);
}

/* Connect, hello and handshake, as far as they are left, without waiting. 0: it is established. */
static int establish(struct task *task)
{
    const struct engine *engine = task->loop->engine;
    struct connection *connection = task->connection;
    struct dial *dial = task->loop->job->dial;
    int result = 0;

    if (connection->state == STATE_UNOPENED)
        result = engine->connect ? engine->connect(task) : dial_connect(dial, connection);
    if (result == 0 && connection->state == STATE_GREETING)
        result = dial_send_hello(dial, connection);
    if (result == 0)
        result = engine_handshake(connection);
    return result == 0 && !connection_is_open(connection) ? -EINPROGRESS : result;
}

static int push_once(struct task *task)
{
    struct event_loop *loop = task->loop;
    int result = connection_is_open(task->connection) ? 0 : establish(task);

    if (result < 0)
        return result;
    if (loop->job->handover) {
        handover_post(loop->job->handover, HANDOVER_SEND);
        return -EINPROGRESS;
    }
    result = strategy_push(task->connection);
    loop->changed |= result == -EINPROGRESS;
    return result;
}

bool task_pushed(struct task *task, int result)
{
    struct connection *connection = task->connection;
    if (result == -EAGAIN || result == -EINPROGRESS)
        connection->awaits = result == -EAGAIN ? AWAITS_ROOM : AWAITS_EVENT;
    else if (result < 0)
        task->loop->result = engine_fail(connection, "send to", result);
    return result == 0;
}

static void push(struct task *task)
{
    struct connection *connection = task->connection;

    for (int i = 0; i < PUSHES_PER_TURN; i++) {
        if (connection->role->fill && queue_is_idle(&connection->queue) && engine_may_fill(connection))
            connection->role->fill(connection);
        if (queue_is_idle(&connection->queue)) {
            on_idle(task);
            return;
        }
        int result = push_once(task);
        if (result == -EAGAIN && connection->state == STATE_UNOPENED)
            break; /* without a descriptor, no event would follow */
        if (!task_pushed(task, result))
            return;
    }
    make_ready(task);
}

static void rearm(struct task *task)
{
    const struct engine *engine = task->loop->engine;
    if (engine->rearm)
        engine->rearm(task);
    if (engine_has_pending(task->connection))
        make_ready(task);
}

/* Relayed bytes make room for more at the twin. */
static void rearm_pair(struct task *task)
{
    rearm(task);
    if (task->twin)
        rearm(task->twin);
}

void task_send_due(struct task *task)
{
    if (!task->connection->awaits)
        push(task);
    rearm_pair(task);
}

/* ---- events ---- */

/* A driver also waits for the peer's half-close: the peer has received everything. */
static bool is_finished(const struct connection *connection)
{
    return connection_has_half_closed(connection) &&
           (!connection->drives || connection_has_ended(connection));
}

void task_continue(struct task *task, int result)
{
    struct event_loop *loop = task->loop;

    if (result < 0 && result != -EAGAIN)
        loop->result = result;
    if (event_loop_is_finishing(loop)) {
        if (!task->over && is_finished(task->connection))
            finish_phase(task);
        rearm(task);
        return;
    }
    if (loop->result == 0)
        close_if_done(task);
    if (loop->result == 0 && !task->connection->awaits && !task->over)
        push(task);
    rearm_pair(task);
}

/* Bytes arrived: the twin sends them after the present batch of events. */
static void relay(struct task *task, int result)
{
    struct task *twin = task->twin;
    if (result == 0)
        on_reply(task);
    if (twin && !twin->over && !twin->connection->awaits)
        make_ready(twin);
}

void task_received(struct task *task, int result)
{
    relay(task, result);
    task_continue(task, result);
}

void task_received_in_batch(struct task *task, int result)
{
    relay(task, result);
    if (event_loop_is_finishing(task->loop) || (result < 0 && result != -EAGAIN)) {
        task_continue(task, result);
        return;
    }
    close_if_done(task);
    make_ready(task);
}

bool task_should_receive(const struct task *task)
{
    const struct connection *connection = task->connection;
    bool always = !task->over && !connection->role->relay_buffers; /* a relay may have no room */
    return !connection_has_ended(connection) &&
           (always || connection->state == STATE_HANDSHAKING || connection->role->wants(connection));
}

void task_writable(struct task *task)
{
    struct connection *connection = task->connection;
    if (event_loop_is_finishing(task->loop) && !task->over && !connection_has_half_closed(connection))
        task_half_close(task);
    else if (connection->state != STATE_HANDSHAKING)
        connection->awaits = AWAITS_NOTHING;
}

int task_reclaim(struct task *task)
{
    int result = engine_reclaim(task->connection);
    if (result < 0)
        task->loop->result = result;
    else if (result > 0 && task->connection->awaits == AWAITS_EVENT)
        task->connection->awaits = AWAITS_NOTHING;
    return result;
}

void task_half_close(struct task *task)
{
    struct connection *connection = task->connection;
    int result = security_half_close(connection);
    connection->awaits = result == -EAGAIN ? AWAITS_ROOM : AWAITS_NOTHING;
    if (result < 0 && result != -EAGAIN)
        result = engine_fail(connection, "half-close its connection to", result);
    task_continue(task, result);
}
