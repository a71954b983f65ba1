/* SPDX-License-Identifier: MIT */
/* Descriptors that come and go under a loop of libuv: a driver's next one, and who comes to a follower. */
#include "engine/poller.h"

#include <stdlib.h>

static void open_next(struct watch *watch);

static void on_hung_up(uv_handle_t *handle)
{
    struct watch *watch = (struct watch *)handle;

    watch->turn.connection->awaits = AWAITS_NOTHING;
    watch->handle.loop = NULL;
    if (watch->turn.turns->result < 0)
        return;
    lifecycle_advance(&watch->turn.connection->state, EVENT_RELEASED);
    if (watch->next_fd >= 0)
        open_next(watch);
    else if (!watch->turn.over)
        turn_step(&watch->turn);
}

void poll_hang_up(struct watch *watch)
{
    watch->turn.connection->awaits = AWAITS_EVENT;
    watch->events = 0;
    uv_close(&watch->handle, on_hung_up);
    dial_hang_up(watch->turn.turns->duty->dial, watch->turn.connection);
}

static int watch_descriptor(struct watch *watch)
{
    struct connection *connection = watch->turn.connection;
    int result = uv_poll_init(&poller_of(watch)->loop, &watch->poll, connection->calls.fd);

    return result < 0 ? engine_broken(connection, "watch its connection to", result) : 0;
}

int poll_connect(struct duty *duty, struct connection *connection)
{
    struct poller *poller = duty->state;
    int result = dial_out(duty->dial, connection, true);

    return result < 0 ? result : watch_descriptor(&poller->watches[connection - duty->connections]);
}

void poll_hang_up_if_ended(struct turn *turn)
{
    const struct connection *connection = turn->connection;
    bool ended = connection_has_ended(connection) || watch_of(turn)->next_fd >= 0;

    if (connection->role->reconnects && ended && connection->calls.fd >= 0 && !engine_has_lent(connection))
        poll_hang_up(watch_of(turn));
}

/* A follower's next descriptor: what is said on it has probably come with the hello. */
static void open_next(struct watch *watch)
{
    struct connection *connection = watch->turn.connection;
    int result = dial_take(watch->turn.turns->duty->dial, connection, watch->next_fd);

    watch->next_fd = -1;
    if (result < 0)
        engine_broken(connection, "take a connection of", result);
    else
        result = watch_descriptor(watch);
    if (result == 0)
        poll_receive(watch);
    else
        turn_stop(&watch->turn, result);
}

/* ---- who comes: the connections of a follower that renews them ---- */

/* The slot may still have its last descriptor, which the other end has closed. */
static void seat(void *owner, size_t number, int fd)
{
    struct poller *poller = owner;
    struct watch *watch = &poller->watches[number];

    if (poller->turns.result < 0 || watch->next_fd >= 0) {
        reception_reject(&poller->reception, fd);
        return;
    }
    watch->next_fd = fd;
    poll_hang_up_if_ended(&watch->turn);
    if (watch->turn.connection->state == STATE_UNOPENED)
        open_next(watch);
}

static void on_guest(uv_poll_t *guest, int status, int events)
{
    struct poller *poller = guest->data;

    (void)status, (void)events;
    poller->events++;
    reception_heard(&poller->reception, (size_t)(guest - poller->guests)); /* libuv goes on listening */
}

static int listen_to_guest(void *owner, size_t number, int fd)
{
    struct poller *poller = owner;
    uv_poll_t *guest = &poller->guests[number];
    int result = uv_poll_init(&poller->loop, guest, fd);

    guest->data = poller;
    return result < 0 ? result : uv_poll_start(guest, UV_READABLE, on_guest);
}

static void on_guest_gone(uv_handle_t *handle)
{
    uv_poll_t *guest = (uv_poll_t *)handle;
    struct poller *poller = guest->data;

    guest->loop = NULL;
    reception_gone(&poller->reception, (size_t)(guest - poller->guests));
}

static void forget_guest(void *owner, size_t number, bool heard)
{
    struct poller *poller = owner;

    (void)heard;
    uv_close((uv_handle_t *)&poller->guests[number], on_guest_gone);
}

static const struct reception_events reception_events = {
    .seated = seat, .listen = listen_to_guest, .forget = forget_guest};

static void on_listener(uv_poll_t *listener, int status, int events)
{
    struct poller *poller = listener->data;

    (void)status, (void)events;
    poller->events++;
    reception_ready(&poller->reception);
}

int poll_open_reception(struct poller *poller)
{
    struct duty *duty = poller->turns.duty;
    int result = reception_open(&poller->reception, duty, true, &reception_events, poller);

    if (result < 0)
        return result;
    poller->guests = calloc(poller->reception.capacity, sizeof *poller->guests);
    if (!poller->guests)
        return -ENOMEM;
    result = uv_poll_init(&poller->loop, &poller->listener, duty->dial->listener);
    if (result < 0)
        return result;
    poller->listener.data = poller;
    return uv_poll_start(&poller->listener, UV_READABLE, on_listener);
}

void poll_close_reception(struct poller *poller)
{
    if (poller->listener.loop)
        uv_close((uv_handle_t *)&poller->listener, NULL);
    for (size_t i = 0; poller->guests && i < poller->reception.capacity; i++)
        if (poller->guests[i].loop && !uv_is_closing((uv_handle_t *)&poller->guests[i]))
            uv_close((uv_handle_t *)&poller->guests[i], NULL);
}
