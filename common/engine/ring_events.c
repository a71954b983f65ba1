/* SPDX-License-Identifier: MIT */
/* Waits for completions, and what each means for its connection. */
#include "engine/ring_events.h"

#include <poll.h>

/* If only POLLERR is set and lent memory came back, there is nothing to read. */
static int readable(struct watch *watch, const struct completion *completion)
{
    struct connection *connection = watch->task.connection;

    if (completion->result < 0)
        return engine_fail(connection, "watch its connection to", completion->result);
    return completion->result == POLLERR && watch->reclaimed ? -EAGAIN : engine_receive_ready(connection);
}

/* Ignores the bytes of a descriptor that is being closed. */
static int discard(struct connection *connection, const uint8_t *data, ssize_t size)
{
    (void)connection, (void)data, (void)size;
    return 0;
}

static int received(struct watch *watch, struct completion *completion)
{
    struct connection *connection = watch->task.connection;

    recv_buffers_align(watch->slot.recv_buffers, completion);
    if (completion->result > 0)
        calls_note_moved(&connection->calls, (uint64_t)completion->result);
    return connection->reading->completed(connection, completion,
                                          connection->state == STATE_CLOSING ? discard : engine_on_data);
}

/* Cancels the multishot receive. Single-shot receives then read the rest and the end of the
 * stream. */
static void half_closed(struct watch *watch)
{
    int result = ring_is_outstanding(watch, RING_RECEIVE) ? ring_cancel(&watch->slot, RING_RECEIVE) : 0;

    watch->slot.ending = true;
    if (result < 0)
        watch->task.loop->result = engine_fail(watch->task.connection, "watch its connection to", result);
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

static void connected(struct watch *watch, int result)
{
    struct connection *connection = watch->task.connection;

    connection->awaits = AWAITS_NOTHING;
    if (result < 0)
        result = dial_fail(watch->task.loop->job->dial, connection, result);
    else
        lifecycle_advance(&connection->state, EVENT_CONNECTED);
    task_continue(&watch->task, result);
}

/* The acceptor has the slots after those of the connections, and only watches them. */
static void on_acceptor(struct ring_engine *engine, const struct ring_event *event)
{
    size_t index = event->number - engine->loop.job->count;

    acceptor_readable(&engine->acceptor, index);
    ring_watch(&engine->accepting[index], RING_READABLE);
}

static void on_error(struct watch *watch)
{
    if (event_loop_is_finishing(watch->task.loop))
        return;
    if (watch->reclaimed || reads_by_ring(watch->task.connection))
        task_continue(&watch->task, 0); /* the multishot receive completes with an error, if any */
    else
        task_received(&watch->task, engine_receive_ready(watch->task.connection)); /* returns the error */
}

static void on_writable(struct watch *watch)
{
    if (task_is_half_closing(&watch->task)) {
        task_half_close(&watch->task);
    } else if (watch->task.connection->state == STATE_HANDSHAKING) {
        task_received(&watch->task, engine_receive_ready(watch->task.connection));
    } else if (!event_loop_is_finishing(watch->task.loop)) {
        watch->task.connection->awaits = AWAITS_NOTHING;
        task_continue(&watch->task, 0);
    }
}

static void on_poll_event(struct watch *watch, const struct ring_event *event)
{
    const struct completion *completion = &event->completion;
    bool is_poll = event->kind == RING_READABLE || event->kind == RING_WRITABLE || event->kind == RING_ERROR;

    if (is_poll) /* it also completes on POLLERR: reclaims lent memory */
        watch->reclaimed =
            completion->result > 0 && completion->result & POLLERR && task_reclaim(&watch->task) > 0;
    switch (event->kind) {
    case RING_READABLE:
        task_received(&watch->task, readable(watch, completion));
        break;
    case RING_ERROR:
        on_error(watch);
        break;
    case RING_HALF_CLOSED:
        half_closed(watch);
        break;
    case RING_WRITABLE:
        on_writable(watch);
        break;
    case RING_CONNECT:
        connected(watch, completion->result);
        break;
    default:
        break;
    }
}

/* Merges completions whose buffers follow each other. So a wake-up with a hundred small chunks
 * costs as much as one with a bundle. */
static void merge(struct ring_engine *engine, struct ring_event *event)
{
    const struct pool *pool = engine->recv_buffers.pool;
    struct completion *completion = &event->completion;
    uint16_t buffer = completion->buffer;
    int before = 0;

    if (pool->headroom)
        return;
    while (completion->result > 0 && (size_t)(completion->result - before) == pool->size) {
        before = completion->result;
        buffer = recv_buffers_after(&engine->recv_buffers, buffer);
        if (!ring_continue(engine->ring, event, buffer))
            return;
    }
}

/* After data, the connection continues only when all completions of this wake-up are handled. So a
 * proxy relays all chunks of a wake-up in one group. */
static void ring_dispatch(struct ring_engine *engine, struct ring_event *event)
{
    struct watch *watch;
    int result = 0;

    if (event->kind == RING_WAKE) {
        event_loop_wake(&engine->loop);
        return;
    }
    if (event->number >= engine->loop.job->count) {
        on_acceptor(engine, event);
        return;
    }
    watch = &engine->watches[event->number];
    if (event->kind == RING_SEND) {
        sent(watch, &event->completion);
        return;
    }
    if (event->kind == RING_RECEIVE)
        merge(engine, event);
    if (!event->completion.more)
        watch->outstanding &= ~(1u << event->kind);
    if (event->kind == RING_RECEIVE)
        result = received(watch, &event->completion);
    if (watch->task.connection->state != STATE_CLOSING && event->kind == RING_RECEIVE)
        task_received_in_batch(&watch->task, result);
    else if (watch->task.connection->state != STATE_CLOSING)
        on_poll_event(watch, event);
    if (watch->task.connection->state == STATE_CLOSING && !watch->outstanding)
        task_released(&watch->task);
}

/* ---- the loop ---- */

/* If buffers have come back, the starved connections request to receive again. */
static void resume_starved(struct ring_engine *engine)
{
    struct watch *watch = engine->starved;

    if (!watch || !recv_buffers_left(&engine->recv_buffers))
        return;
    engine->starved = NULL;
    while (watch) {
        struct watch *next = watch->next_starved;

        watch->starved = false;
        engine->loop.backend->rearm(&watch->task);
        watch = next;
    }
}

void ring_wait(struct event_loop *loop)
{
    struct ring_engine *engine = (struct ring_engine *)loop;
    uint64_t due_ns = event_loop_is_finishing(loop) ? NEVER : timers_next(&loop->timers);
    bool spins = due_ns != NEVER && loop->job->shared->plan->pace == PACE_SPIN;
    struct ring_event event;
    int result;

    resume_starved(engine);
    recv_buffers_publish(&engine->recv_buffers);
    if (spins || (loop->ready && !event_loop_is_finishing(loop)))
        result = ring_poll(engine->ring);
    else
        result = ring_enter(engine->ring, due_ns);
    if (result < 0)
        loop->result = engine_fail(loop->job->connections, "wait in its io_uring for", result);
    while (loop->result == 0 && ring_next(engine->ring, &event))
        ring_dispatch(engine, &event);
}
