/* SPDX-License-Identifier: MIT */
#include "engine/turns.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <unistd.h>

#define PUSHES_PER_TURN 64 /* then other connections have their turn */

void *turns_open(struct engine_job *job, const struct turns_events *events, size_t state_size, size_t size,
                 size_t offset)
{
    struct turns *turns = job->state = needed(calloc(1, state_size));
    struct connection *first = job->connections;

    turns->job = job;
    turns->on = events;
    turns->watches = needed(calloc(job->count, size));
    turns->list = needed(calloc(job->count, sizeof *turns->list));
    timers_open(&turns->timers, job->count);
    for (size_t i = 0; i < job->count; i++) {
        turns->list[i] = (struct turn *)((char *)turns->watches + i * size + offset);
        *turns->list[i] = (struct turn){.turns = turns, .connection = &first[i], .next_fd = -1};
    }
    for (size_t i = 0; i < job->count; i++)
        if (first[i].twin)
            turns->list[i]->twin = turns->list[first[i].twin - first];
    return turns;
}

void turns_close(struct engine_job *job)
{
    struct turns *turns = job->state;

    for (size_t i = 0; turns && i < job->count; i++)
        if (turns->list[i]->next_fd >= 0)
            close(turns->list[i]->next_fd);
    if (turns) {
        timers_close(&turns->timers);
        free(turns->watches);
        free(turns->list);
    }
    free(turns);
    job->state = NULL;
}

static void finish_phase(struct turn *turn)
{
    turn->over = true;
    turn->turns->open--;
}

static void enqueue(struct turn *turn)
{
    struct turns *turns = turn->turns;

    if (turn->busy)
        return;
    turn->busy = true;
    turn->next_busy = NULL;
    *turns->last_busy = turn;
    turns->last_busy = &turn->next_busy;
}

static void await_due(struct turn *turn)
{
    uint64_t due_ns = role_next(turn->connection);

    if (turn->scheduled || due_ns == NEVER)
        return;
    turn->scheduled = true;
    timers_add(&turn->turns->timers, due_ns, turn);
}

/* ---- descriptors of connections that reconnect ---- */

static void close_descriptor(struct turn *turn)
{
    struct connection *connection = turn->connection;
    const struct turns_events *on = turn->turns->on;
    bool outstanding = on->forget && on->forget(turn);

    dial_close(turn->turns->job->dial, connection);
    connection->awaits = outstanding ? AWAITS_EVENT : AWAITS_NOTHING;
    if (!outstanding)
        lifecycle_advance(&connection->state, EVENT_RELEASED);
}

static void take_next(struct turn *turn)
{
    struct turns *turns = turn->turns;
    int result = dial_assign(turns->job->dial, turn->connection, turn->next_fd);

    turn->next_fd = -1;
    if (result < 0)
        turns->result = engine_fail(turn->connection, "take a connection of", result);
    else
        turns->on->accepted(turn);
}

/* The stream of a follower has ended, or its driver has connected again. */
static void close_if_ended(struct turn *turn)
{
    const struct connection *connection = turn->connection;

    if (!connection->reconnects)
        return;
    if ((connection_has_ended(connection) || turn->next_fd >= 0) && connection->calls.fd >= 0 &&
        !engine_has_lent(connection))
        close_descriptor(turn);
    if (turn->next_fd >= 0 && connection->state == STATE_UNOPENED)
        take_next(turn);
}

/* A driver has all replies on its descriptor, or a follower whose phase is over has received the
 * end of its own. */
static inline void close_if_done(struct turn *turn)
{
    const struct connection *connection = turn->connection;

    if (!connection->reconnects || !connection_is_open(connection))
        return;
    if ((turn->over && connection_has_ended(connection)) ||
        (connection->drives && queue_is_idle(&connection->queue) && !engine_has_lent(connection) &&
         !connection->role->wants(connection)))
        close_descriptor(turn);
}

/* If the received bytes prove that the other end has received all, the request in flight is
 * done. */
static void on_answer(struct turn *turn)
{
    struct connection *connection = turn->connection;
    const struct request *request = &connection->request;

    if (!request->in_flight || !request->silent || !connection->role->answered(connection))
        return;
    strategy_answered(connection);
    connection->awaits = AWAITS_NOTHING;
}

/* The other end connects again only after it has received the last reply. */
void turn_accepted(struct turn *turn, int fd)
{
    turn->next_fd = fd;
    on_answer(turn);
    close_if_ended(turn);
}

void turn_released(struct turn *turn)
{
    turn->connection->awaits = AWAITS_NOTHING;
    if (turn->turns->result < 0)
        return;
    lifecycle_advance(&turn->connection->state, EVENT_RELEASED);
    if (turn->next_fd >= 0)
        take_next(turn);
    else if (!turn->over)
        turn_step(turn);
}

/* ---- one connection ---- */

/* The queue is idle. If memory is lent, waits for its return. Without room nothing can be appended;
 * and the phase is over only when all memory is back. */
static void on_idle(struct turn *turn)
{
    struct connection *connection = turn->connection;
    bool lent = connection->queue.released != connection->queue.appended;

    close_if_ended(turn);
    if (lent && (!connection_room(connection) || !engine_may_fill(connection)))
        return;
    if (!lent && role_is_over(connection))
        finish_phase(turn);
    else
        await_due(turn);
}

/* Continues to establish the connection without waiting: connect, hello, handshake. */
static int establish(struct turn *turn)
{
    struct connection *connection = turn->connection;
    int result = 0;

    if (connection->state == STATE_UNOPENED)
        result = turn->turns->on->connect(turn);
    if (result == 0 && connection->state == STATE_GREETING)
        result = dial_send_hello(turn->turns->job->dial, connection);
    if (result == 0 && connection->state == STATE_HANDSHAKING)
        result = engine_handshake(connection);
    return result == 0 && !connection_is_open(connection) ? -EINPROGRESS : result;
}

static int push_once(struct turn *turn)
{
    const struct turns_events *on = turn->turns->on;
    int result = connection_is_open(turn->connection) ? 0 : establish(turn);

    return result < 0 ? result : on->push ? on->push(turn) : strategy_push(turn->connection);
}

static void push(struct turn *turn)
{
    struct connection *connection = turn->connection;

    for (int i = 0; i < PUSHES_PER_TURN; i++) {
        int result;

        if (connection->role->fill && queue_is_idle(&connection->queue) && engine_may_fill(connection))
            connection->role->fill(connection);
        if (queue_is_idle(&connection->queue)) {
            on_idle(turn);
            return;
        }
        result = push_once(turn);
        if (result == -EAGAIN && connection->state == STATE_UNOPENED)
            break; /* without a descriptor, no event would follow */
        if (result == -EAGAIN || result == -EINPROGRESS) {
            connection->awaits = result == -EAGAIN ? AWAITS_ROOM : AWAITS_EVENT;
            return;
        }
        if (result < 0) {
            turn->turns->result = engine_fail(connection, "send to", result);
            return;
        }
    }
    enqueue(turn);
}

static void rearm(struct turn *turn)
{
    turn->turns->on->rearm(turn);
    if (engine_has_pending(turn->connection))
        enqueue(turn);
}

/* The bytes that were relayed make room for more at the twin. */
static void rearm_pair(struct turn *turn)
{
    rearm(turn);
    if (turn->twin)
        rearm(turn->twin);
}

void turn_step(struct turn *turn)
{
    if (!turn->connection->awaits)
        push(turn);
    rearm_pair(turn);
}

void turn_continue(struct turn *turn, int result)
{
    if (result < 0 && result != -EAGAIN)
        turn->turns->result = result;
    else if (turn->turns->result == 0)
        close_if_done(turn);
    if (turn->turns->result == 0 && !turn->connection->awaits && !turn->over)
        push(turn);
    rearm_pair(turn);
}

/* The half-close of the other end confirms to a connection that drives that all was received. */
void turn_continue_end(struct turn *turn, int result)
{
    const struct connection *connection = turn->connection;

    if (result < 0 && result != -EAGAIN)
        turn->turns->result = result;
    if (!turn->over && connection_has_half_closed(connection) &&
        (!connection->drives || connection_has_ended(connection)))
        finish_phase(turn);
    turn->turns->on->rearm(turn);
}

/* Bytes arrived: the twin relays them after the present batch of events. */
static void relay(struct turn *turn)
{
    struct turn *twin = turn->twin;

    if (twin && !twin->over && !twin->connection->awaits)
        enqueue(twin);
}

void turn_received(struct turn *turn, int result)
{
    if (turn->turns->finishing) {
        turn_continue_end(turn, result);
        return;
    }
    if (result == 0)
        on_answer(turn);
    relay(turn);
    turn_continue(turn, result);
}

void turn_received_of_many(struct turn *turn, int result)
{
    if (turn->turns->finishing || (result < 0 && result != -EAGAIN)) {
        turn_received(turn, result);
        return;
    }
    if (result == 0)
        on_answer(turn);
    close_if_done(turn);
    relay(turn);
    enqueue(turn);
}

int turn_reclaim(struct turn *turn)
{
    int result = engine_reclaim(turn->connection);

    if (result < 0)
        turn->turns->result = result;
    else if (result > 0 && turn->connection->awaits == AWAITS_EVENT)
        turn->connection->awaits = AWAITS_NOTHING;
    return result;
}

/* ---- all connections ---- */

/* No event announces bytes that the layer has buffered: the connection takes them in its turn. */
static void run_busy(struct turns *turns)
{
    struct turn *turn = turns->busy;

    turns->busy = NULL;
    turns->last_busy = &turns->busy;
    while (turn && turns->result == 0) {
        struct turn *next = turn->next_busy;

        turn->busy = false;
        if (engine_has_pending(turn->connection))
            turn_received(turn, turns->on->take(turn->connection));
        else
            turn_continue(turn, 0);
        turn = next;
    }
}

static void run_due(struct turns *turns)
{
    struct thread_shared *shared = turns->job->shared;
    struct turn *turn;

    if (turns_next(turns) == NEVER)
        return;
    shared->now_ns = clock_now_ns();
    while (turns->result == 0 && (turn = timers_take(&turns->timers, shared->now_ns))) {
        turn->scheduled = false;
        if (!turn->over && !turn->connection->awaits && !turn->busy)
            turn_step(turn);
    }
}

static void begin(struct turns *turns)
{
    turns->result = 0;
    turns->open = turns->job->count;
    turns->busy = NULL;
    turns->last_busy = &turns->busy;
    turns->timers.count = 0;
    for (size_t i = 0; i < turns->job->count; i++) {
        struct turn *turn = turns->list[i];

        turn->over = turn->busy = turn->scheduled = false;
    }
    for (size_t i = 0; i < turns->job->count && turns->result == 0; i++) {
        turns->job->shared->now_ns = clock_now_ns();
        turn_step(turns->list[i]);
    }
}

int turns_run(struct engine_job *job)
{
    struct turns *turns = job->state;

    if (thread_shared_is_cancelled(job->shared))
        return -ECANCELED;
    begin(turns);
    while (turns->open && turns->result == 0) {
        run_busy(turns);
        run_due(turns);
        if (turns->open && turns->result == 0)
            turns->on->wait(turns);
    }
    return turns->result;
}

bool turn_is_half_closing(const struct turn *turn)
{
    return turn->turns->finishing && !turn->over && !connection_has_half_closed(turn->connection);
}

void turn_half_close(struct turn *turn)
{
    struct connection *connection = turn->connection;
    int result = security_half_close(connection);

    connection->awaits = result == -EAGAIN ? AWAITS_ROOM : AWAITS_NOTHING;
    if (result < 0 && result != -EAGAIN)
        result = engine_fail(connection, "half-close towards", result);
    turn_continue_end(turn, result);
}

static int finish_those(struct turns *turns, bool drive)
{
    for (size_t i = 0; i < turns->job->count && turns->result == 0; i++)
        if (turns->list[i]->connection->drives == drive) {
            turns->list[i]->over = false;
            turns->open++;
            turn_half_close(turns->list[i]);
        }
    while (turns->open && turns->result == 0)
        turns->on->wait(turns);
    return turns->result;
}

int turns_finish(struct engine_job *job)
{
    struct turns *turns = job->state;
    int result;

    turns->finishing = true;
    turns->open = 0;
    result = finish_those(turns, true);
    return result < 0 ? result : finish_those(turns, false);
}

void turns_wake(struct turns *turns)
{
    if (thread_shared_is_cancelled(turns->job->shared))
        turns->result = -ECANCELED;
    for (size_t i = 0; !turns->finishing && i < turns->job->count && turns->result == 0; i++) {
        struct turn *turn = turns->list[i];

        if (!turn->over && queue_is_idle(&turn->connection->queue))
            turn_step(turn);
    }
}
