/* SPDX-License-Identifier: MIT */
/* A thread for each connection, in blocking calls: no end has to send and receive at once. */
#include "engine/event_loop.h"

#include <poll.h>

static int await_memory(struct connection *connection)
{
    int result = engine_reclaim(connection);

    if (result == 0) {
        pause_for(connection->shared, connection->calls.fd, 0);
        result = engine_reclaim(connection);
    }
    if (result == 0) { /* the socket has another error, or control has shut it down */
        result = sockets_error(connection->calls.fd);
        return engine_fail(connection, "send to", result < 0 ? result : -EPIPE);
    }
    connection->awaits = AWAITS_NOTHING;
    return result < 0 ? result : 0;
}

/* Waits in ppoll(2) if the call of the reading never blocks. TCP_ZEROCOPY_RECEIVE reports the end of
 * the stream only for a half-close of the peer, not for a shutdown(2) here (Linux 6.18). */
static int receive(struct connection *connection, size_t wanted)
{
    int result = engine_receive(connection, wanted);
    if (result != -EAGAIN)
        return result;
    pause_for(connection->shared, connection->calls.fd, POLLIN);
    if (thread_shared_is_cancelled(connection->shared))
        return -ECANCELED;
    result = engine_reclaim(connection);
    return result < 0 ? result : 0;
}

/* Receives one chunk in a blocking call, then the rest of a window without blocking. */
static int receive_window(struct connection *connection)
{
    size_t wanted = connection->role->wants(connection);
    uint64_t before = connection->arrivals.bytes;
    int result = engine_receive(connection, wanted);
    if (result < 0 || connection->arrivals.bytes - before < wanted)
        return result;
    connection->calls.flags = MSG_DONTWAIT;
    result = engine_receive_chunks(connection, connection->window - 1);
    connection->calls.flags = 0;
    return result == -EAGAIN ? 0 : result;
}

static int wait_until(struct connection *connection, uint64_t due_ns)
{
    bool woken = pause_until(connection->shared, connection->calls.fd, due_ns);
    if (thread_shared_is_cancelled(connection->shared))
        return -ECANCELED;
    if (!woken)
        return 0;
    int result = engine_reclaim(connection);
    if (result != 0)
        return result < 0 ? result : 0;
    return engine_receive(connection, 1); /* the end of the stream, or unexpected bytes */
}

/* The reply may arrive before the call of the sender returns. After an error, does not wait for the
 * sender: the end of the run shuts the descriptor down, which wakes it. A sender that failed has
 * shut it down, so its error comes first. */
static int await_reply(struct engine_job *job)
{
    struct connection *connection = job->connections;
    struct handover *handover = job->handover;
    int result = 0;
    size_t wanted;

    while (result == 0 && (wanted = connection->role->wants(connection)))
        result = receive(connection, wanted);
    if (result < 0 && (!handover_trywait(handover) || handover->result == 0))
        return result;
    if (result < 0)
        job->shared->problem = (struct problem){0};
    result = handover_wait(handover);
    if (result < 0)
        return engine_fail(connection, "send to", result);
    histogram_record(&job->shared->handover, handover->woken_ns - handover->posted_ns);
    connection->awaits = AWAITS_NOTHING;
    return 0;
}

/* Sends what is due. Returns false if the connection awaits something, has failed, or has no room
 * until lent memory is back. */
static bool send_due(struct task *task)
{
    struct connection *connection = task->connection;
    const struct role *role = connection->role;

    if (!role->fill)
        return true;
    while (role->fill(connection), !queue_is_idle(&connection->queue)) {
        int result = strategy_push(connection);

        if (UNLIKELY(result < 0))
            return task_pushed(task, result);
    }
    return LIKELY(!connection->loans) || connection_room(connection);
}

/* Receives what the role wants and sends what is then due, turn after turn, if no other descriptor,
 * thread or timer is involved: the event loop has nothing to decide in between. It would do the
 * same with more code, and base/hot.h says what that costs. */
HOT NO_CANARY NOT_INLINE static int take_turns(struct task *task, size_t wanted)
{
    struct connection *connection = task->connection;
    bool turns = !connection->reconnects && !task->loop->job->handover && !connection->shared->paced &&
                 !connection->awaits;
    int result;
    do
        result = receive(connection, wanted);
    while (LIKELY(result == 0) && turns && send_due(task) && (wanted = connection->role->wants(connection)));
    return result;
}

static int wait_for_one(struct event_loop *loop, struct connection *connection)
{
    bool lent = engine_has_lent(connection);
    size_t wanted;

    if (loop->job->handover && connection->awaits)
        return await_reply(loop->job);
    if (lent && (connection->awaits || !connection_room(connection)))
        return await_memory(connection); /* without room the next message could not be appended */
    if ((wanted = connection->role->wants(connection)))
        return take_turns(event_loop_task(loop, 0), wanted);
    if (lent && (!engine_may_fill(connection) || !loop->timers.count))
        return await_memory(connection);
    return wait_until(connection, timers_next(&loop->timers));
}

/* Waits until one connection of the pair receives; its twin sends these bytes. */
static void wait_for_pair(struct task *from)
{
    struct task *to = from->twin;
    if (engine_has_lent(to->connection) &&
        (to->connection->awaits || !from->connection->role->wants(from->connection)))
        task_continue(to, await_memory(to->connection));
    else
        task_received(from, receive_window(from->connection));
}

static void wait_in_call(struct event_loop *loop)
{
    struct task *first = event_loop_task(loop, 0);
    if (event_loop_is_finishing(loop)) {
        struct task *open = first->over ? first->twin : first;

        task_continue(open, engine_receive_ready(open->connection));
    } else if (first->twin && TAILQ_EMPTY(&loop->ready)) {
        wait_for_pair(first->connection->follows ? first : first->twin);
    } else if (TAILQ_EMPTY(&loop->ready)) {
        task_continue(first, wait_for_one(loop, first->connection));
    }
}

static int block_open(struct engine_job *job)
{
    return event_loop_open(job, sizeof(struct event_loop), sizeof(struct task)) ? 0 : -ENOMEM;
}

const struct engine engine_block = {
    .variant = {"block", "a thread for each connection, in blocking calls"},
    .gives = CAPABLE_BLOCKING_MODE,
    .thread_per_connection = true,
    .open = block_open,
    .close = event_loop_close,
    .wait = wait_in_call,
};
