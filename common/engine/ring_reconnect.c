/* SPDX-License-Identifier: MIT */
/* The ring engine: connections that reconnect. */
#include "engine/ringer.h"

/* ---- the driver ---- */

int ring_begin_connect(struct duty *duty, struct connection *connection)
{
    struct ringer *ringer = duty->state;
    struct watch *watch = &ringer->watches[connection - duty->connections];
    const struct dial *dial = duty->dial;
    int result = dial_open(duty->dial, connection, false);

    if (result < 0)
        return result;
    watch->slot.file = connection->calls.fd;
    watch->slot.ending = false;
    result = ring_connect(&watch->slot, (const struct sockaddr *)&dial->target->storage, dial->target->size);
    if (result < 0)
        return result;
    watch->outstanding |= 1u << RING_CONNECT;
    return -EINPROGRESS;
}

void ring_connected(struct watch *watch, int result)
{
    struct connection *connection = watch->turn.connection;

    connection->awaits = AWAITS_NOTHING;
    if (result < 0)
        result = dial_fail(watch->turn.turns->duty->dial, connection, result);
    else
        lifecycle_advance(&connection->state, EVENT_CONNECTED);
    turn_continue(&watch->turn, result);
}

/* ---- the follower ---- */

int ring_assign(struct watch *watch)
{
    struct connection *connection = watch->turn.connection;
    int result = dial_assign(watch->turn.turns->duty->dial, connection, watch->turn.next_fd);

    watch->slot.file = watch->turn.next_fd;
    watch->slot.ending = false;
    watch->turn.next_fd = -1;
    if (result < 0)
        turn_stop(&watch->turn, engine_fail(connection, "take a connection of", result));
    return result;
}

/* ---- close ---- */

void ring_close_descriptor(struct turn *turn)
{
    struct watch *watch = watch_of(turn);
    struct connection *connection = turn->connection;

    for (unsigned kind = 0; kind < RING_WAKE; kind++)
        if (ring_is_outstanding(watch, kind))
            ring_cancel(&watch->slot, kind);
    dial_close(turn->turns->duty->dial, connection);
    connection->awaits = watch->outstanding ? AWAITS_EVENT : AWAITS_NOTHING;
    if (!watch->outstanding)
        lifecycle_advance(&connection->state, EVENT_RELEASED);
}

void ring_release(struct watch *watch)
{
    if (watch->outstanding)
        return;
    lifecycle_advance(&watch->turn.connection->state, EVENT_RELEASED);
    watch->turn.connection->awaits = AWAITS_NOTHING;
    if (!watch->turn.over)
        turn_step(&watch->turn);
    else
        ring_rearm(&watch->turn);
}

/* ---- the acceptor ---- */

/* The other end connects again only after it has received the last reply. */
void ring_assigned(struct turn *turn)
{
    ring_on_answer(watch_of(turn));
    turn_close_if_ended(turn);
    ring_rearm(turn);
}

void ring_on_acceptor(struct ringer *ringer, const struct ring_event *event)
{
    bool listener = event->number == ringer->listener.number;

    if (event->kind != RING_READABLE)
        return;
    if (listener)
        acceptor_accept(&ringer->acceptor);
    else
        acceptor_run(&ringer->acceptor);
    ring_watch(listener ? &ringer->listener : &ringer->pending, RING_READABLE);
}

int ring_open_acceptor(struct ringer *ringer)
{
    const struct duty *duty = ringer->turns.duty;
    int result = acceptor_open(&ringer->acceptor, &ringer->turns, false);

    if (result < 0)
        return result;
    ringer->listener = (struct ring_slot){
        .ring = ringer->ring, .number = (uint32_t)duty->count, .file = duty->dial->listener};
    ringer->pending = (struct ring_slot){
        .ring = ringer->ring, .number = (uint32_t)duty->count + 1, .file = ringer->acceptor.pending_fd};
    result = ring_watch(&ringer->listener, RING_READABLE);
    return result < 0 ? result : ring_watch(&ringer->pending, RING_READABLE);
}
