/* SPDX-License-Identifier: MIT */
/* On a ring: descriptors that come and go, and who comes. */
#include "engine/ringer.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- a driver's ---- */

int ring_dial(struct duty *duty, struct connection *connection)
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
        result = dial_broken(watch->turn.turns->duty->dial, connection, result);
    else
        lifecycle_advance(&connection->state, EVENT_CONNECTED);
    turn_go_on(&watch->turn, result);
}

/* ---- a follower's ---- */

int ring_take_next(struct watch *watch)
{
    struct connection *connection = watch->turn.connection;
    int result = dial_take(watch->turn.turns->duty->dial, connection, watch->next_fd);

    watch->slot.file = watch->next_fd;
    watch->slot.ending = false;
    watch->next_fd = -1;
    if (result < 0)
        turn_stop(&watch->turn, engine_broken(connection, "take a connection of", result));
    return result;
}

/* ---- the end of one ---- */

void ring_hang_up(struct watch *watch)
{
    struct connection *connection = watch->turn.connection;

    for (unsigned kind = 0; kind < RING_WAKE; kind++)
        if (ring_is_outstanding(watch, kind))
            ring_cancel(&watch->slot, kind);
    dial_hang_up(watch->turn.turns->duty->dial, connection);
    connection->awaits = watch->outstanding ? AWAITS_EVENT : AWAITS_NOTHING;
    if (!watch->outstanding)
        lifecycle_advance(&connection->state, EVENT_RELEASED);
}

/* Or the other end has come again, on another descriptor. */
void ring_hang_up_if_ended(struct turn *turn)
{
    const struct connection *connection = turn->connection;
    bool ended = connection_has_ended(connection) || watch_of(turn)->next_fd >= 0;

    if (connection->role->reconnects && ended && connection->calls.fd >= 0 && !engine_has_lent(connection))
        ring_hang_up(watch_of(turn));
}

void ring_let_go(struct watch *watch)
{
    if (watch->outstanding)
        return;
    lifecycle_advance(&watch->turn.connection->state, EVENT_RELEASED);
    watch->turn.connection->awaits = AWAITS_NOTHING;
    if (!watch->turn.over)
        turn_step(&watch->turn);
    else
        ring_ask(&watch->turn);
}

/* ---- who comes: the connections of a follower that renews them ---- */

/* The slot may still have its last descriptor, which the other end has closed. */
static void seat(void *owner, size_t number, int fd)
{
    struct ringer *ringer = owner;
    struct watch *watch = &ringer->watches[number];

    if (ringer->turns.result < 0 || watch->next_fd >= 0) {
        reception_reject(&ringer->reception, fd);
        return;
    }
    watch->next_fd = fd;
    ring_note_answer(watch); /* or the other end would not have come again */
    ring_hang_up_if_ended(&watch->turn);
    ring_ask(&watch->turn);
}

static int listen_to_guest(void *owner, size_t number, int fd)
{
    struct ringer *ringer = owner;

    ringer->guests[number] = (struct ring_slot){
        .ring = ringer->ring, .number = ringer->listener.number + 1 + (uint32_t)number, .file = fd};
    return ring_watch(&ringer->guests[number], RING_READABLE);
}

static void forget_guest(void *owner, size_t number, bool heard)
{
    struct ringer *ringer = owner;

    if (!heard)
        ring_cancel(&ringer->guests[number], RING_READABLE);
}

static const struct reception_events reception_events = {
    .seated = seat, .listen = listen_to_guest, .forget = forget_guest};

void ring_on_guest(struct ringer *ringer, const struct ring_event *event)
{
    size_t guest = event->number - ringer->listener.number - 1;

    if (event->kind != RING_READABLE)
        return;
    if (event->number == ringer->listener.number) {
        reception_ready(&ringer->reception);
        ring_watch(&ringer->listener, RING_READABLE);
    } else if (reception_heard(&ringer->reception, guest)) {
        ring_watch(&ringer->guests[guest], RING_READABLE);
    } else {
        reception_gone(&ringer->reception, guest);
    }
}

int ring_open_reception(struct ringer *ringer)
{
    struct duty *duty = ringer->turns.duty;
    int result = reception_open(&ringer->reception, duty, false, &reception_events, ringer);

    if (result < 0)
        return result;
    ringer->guests = calloc(ringer->reception.capacity, sizeof *ringer->guests);
    if (!ringer->guests)
        return -ENOMEM;
    ringer->listener = (struct ring_slot){
        .ring = ringer->ring, .number = (uint32_t)duty->count, .file = duty->dial->listener};
    return ring_watch(&ringer->listener, RING_READABLE);
}

void ring_close_reception(struct ringer *ringer)
{
    reception_close(&ringer->reception);
    free(ringer->guests);
}
