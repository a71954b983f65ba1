/* SPDX-License-Identifier: MIT */
/* Waits for completions, and what each means for its connection. */
#include "engine/ring_events.h"

#include <poll.h>

/* Passes the bytes on as spans of buffers; ignores those of a descriptor that is being closed.
 * Unless a relay owns it, a buffer returns to the kernel at once. Returns as engine_on_data(). */
static int received(struct watch *watch, struct completion *completion)
{
    struct connection *connection = watch->task.connection;
    struct recv_buffers *buffers = watch->slot.recv_buffers;
    bool closing = connection->state == STATE_CLOSING;
    const uint8_t *data;
    uint8_t byte = 0;
    int result = 0;

    if (completion->result == -ENOBUFS || completion->result == -ECANCELED)
        return -EAGAIN; /* receives again: with free buffers, or single-shot if `ending` */
    recv_buffers_align(buffers, completion);
    if (completion->result <= 0) {
        ssize_t size = security_receive_control_record(connection, completion->result, &byte);
        return closing ? 0 : engine_on_data(connection, &byte, size);
    }
    calls_note_moved(&connection->calls, (uint64_t)completion->result);
    for (size_t size, left = (size_t)completion->result; left && result == 0; left -= size) {
        size = recv_buffers_take(buffers, &completion->buffer, left, &data);
        result = closing ? 0 : engine_on_data(connection, data, (ssize_t)size);
        if (!connection->role->relay_buffers)
            pool_release(buffers->pool, data, size);
    }
    return result;
}

static void sent(struct watch *watch, const struct completion *completion)
{
    struct connection *connection = watch->task.connection;
    int result = 0;

    if (completion->is_notification) {
        uint32_t number = loans_number(connection->loans, completion->token, REQUEST_TOKEN_MAX);
        connection_returned(connection, number, number, completion->copied);
    } else {
        if (completion->result > 0)
            calls_note_moved(&connection->calls, (uint64_t)completion->result);
        result = connection->strategy->completed(connection, completion);
    }
    if (event_loop_is_finishing(watch->task.loop))
        return;
    if (connection_is_open(connection))
        connection->awaits = AWAITS_NOTHING;
    task_continue(&watch->task, result < 0 ? engine_fail(connection, "send to", result) : 0);
}

/* Continues after a request that is neither a send nor a receive. One that polls also completes on
 * POLLERR, which may mean that lent memory came back. */
static void polled(struct watch *watch, enum ring_kind kind, int result)
{
    struct task *task = &watch->task;
    struct connection *connection = task->connection;
    bool is_poll = kind == RING_READABLE || kind == RING_WRITABLE || kind == RING_ERROR;
    bool reclaimed = is_poll && result > 0 && result & POLLERR && task_reclaim(task) > 0;

    switch (kind) {
    case RING_READABLE:
        if (result < 0)
            result = engine_fail(connection, "watch its connection to", result);
        else
            result = reclaimed && result == POLLERR ? -EAGAIN : engine_receive_ready(connection);
        task_received(task, result);
        break;
    case RING_ERROR:
        if (event_loop_is_finishing(task->loop))
            break;
        if (reclaimed || reads_by_ring(connection))
            task_continue(task, 0); /* the multishot receive completes with an error, if any */
        else
            task_received(task, engine_receive_ready(connection)); /* returns the error */
        break;
    case RING_WRITABLE:
        task_writable(task);
        if (connection->state == STATE_HANDSHAKING)
            task_received(task, engine_receive_ready(connection));
        else
            task_continue(task, 0);
        break;
    case RING_HALF_CLOSED: /* single-shot receives read the rest and the end of the stream */
        watch->slot.ending = true;
        if (ring_is_outstanding(watch, RING_RECEIVE) &&
            (result = ring_cancel(&watch->slot, RING_RECEIVE)) < 0)
            task->loop->result = engine_fail(connection, "watch its connection to", result);
        break;
    case RING_CONNECT:
        connection->awaits = AWAITS_NOTHING;
        if (result < 0)
            result = dial_fail(task->loop->job->dial, connection, result);
        else
            lifecycle_advance(&connection->state, EVENT_CONNECTED);
        task_continue(task, result);
        break;
    default:
        break;
    }
}

/* After data, the connection continues when all completions of this wake-up are handled: a proxy
 * relays them in one group. The slots after those of the connections are the acceptor's. */
static void ring_dispatch(struct ring_engine *engine, struct ring_event *event)
{
    size_t connections = engine->loop.job->count;

    if (event->kind == RING_WAKE) {
        event_loop_wake(&engine->loop);
        return;
    }
    if (event->number >= connections) {
        event_loop_accept(&engine->loop, event->number - connections);
        ring_watch(&engine->accepting[event->number - connections], RING_READABLE);
        return;
    }
    struct watch *watch = watch_of(event_loop_task(&engine->loop, event->number));
    const struct connection *connection = watch->task.connection;
    int result = 0;
    if (event->kind == RING_SEND) {
        sent(watch, &event->completion);
        return;
    }
    if (event->kind == RING_RECEIVE && event->completion.result == (int)engine->recv_buffers.pool->size)
        ring_merge(engine->ring, event, &engine->recv_buffers);
    if (!event->completion.more)
        watch->outstanding &= ~(1u << event->kind);
    if (event->kind == RING_RECEIVE)
        result = received(watch, &event->completion);
    if (connection->state != STATE_CLOSING && event->kind == RING_RECEIVE)
        task_received_in_batch(&watch->task, result);
    else if (connection->state != STATE_CLOSING)
        polled(watch, event->kind, event->completion.result);
    if (connection->state == STATE_CLOSING && !watch->outstanding)
        task_released(&watch->task);
}

void ring_wait(struct event_loop *loop)
{
    struct ring_engine *engine = (struct ring_engine *)loop;
    uint64_t due_ns = event_loop_is_finishing(loop) ? NEVER : timers_next(&loop->timers);
    bool spins = due_ns != NEVER && loop->job->shared->plan->pace == PACE_SPIN;
    bool waits = !spins && (TAILQ_EMPTY(&loop->ready) || event_loop_is_finishing(loop));
    struct watch *starved = engine->starved;
    struct ring_event event;

    /* Buffers have come back: the starved connections request to receive again. */
    if (starved && recv_buffers_left(&engine->recv_buffers)) {
        engine->starved = NULL;
        for (struct watch *next; starved; starved = next) {
            next = starved->next_starved;
            starved->starved = false;
            loop->engine->rearm(&starved->task);
        }
    }
    recv_buffers_publish(&engine->recv_buffers);
    int result = waits ? ring_enter(engine->ring, due_ns) : ring_poll(engine->ring);
    if (result < 0)
        loop->result = engine_fail(loop->job->connections, "wait in its io_uring for", result);
    while (loop->result == 0 && ring_next(engine->ring, &event))
        ring_dispatch(engine, &event);
}
