/* SPDX-License-Identifier: MIT */
/* The poll engine: connections that reconnect. */
#include "engine/poller.h"

static int watch_descriptor(struct watch *watch)
{
    struct connection *connection = watch->turn.connection;
    int result = uv_poll_init(&poller_of(watch)->loop, &watch->poll, connection->calls.fd);

    return result < 0 ? engine_fail(connection, "watch its connection to", result) : 0;
}

int poll_connect(struct duty *duty, struct connection *connection)
{
    struct poller *poller = duty->state;
    int result = dial_connect(duty->dial, connection, true);

    return result < 0 ? result : watch_descriptor(&poller->watches[connection - duty->connections]);
}

/* Receives at once: the first message has probably arrived with the hello. */
void poll_assigned(struct turn *turn)
{
    struct watch *watch = watch_of(turn);
    struct connection *connection = turn->connection;
    int result;

    turn_close_if_ended(turn);
    if (connection->state != STATE_UNOPENED)
        return;
    result = dial_assign(turn->turns->duty->dial, connection, turn->next_fd);
    turn->next_fd = -1;
    if (result < 0)
        engine_fail(connection, "take a connection of", result);
    else
        result = watch_descriptor(watch);
    if (result == 0)
        poll_receive(watch);
    else
        turn_stop(turn, result);
}

static void on_closed(uv_handle_t *handle)
{
    struct watch *watch = (struct watch *)handle;
    struct turn *turn = &watch->turn;

    turn->connection->awaits = AWAITS_NOTHING;
    watch->handle.loop = NULL;
    if (turn->turns->result < 0)
        return;
    lifecycle_advance(&turn->connection->state, EVENT_RELEASED);
    if (turn->next_fd >= 0)
        poll_assigned(turn);
    else if (!turn->over)
        turn_step(turn);
}

void poll_close_descriptor(struct turn *turn)
{
    struct watch *watch = watch_of(turn);

    turn->connection->awaits = AWAITS_EVENT;
    watch->events = 0;
    uv_close(&watch->handle, on_closed);
    dial_close(turn->turns->duty->dial, turn->connection);
}

/* ---- the acceptor ---- */

static void on_listener(uv_poll_t *listener, int status, int events)
{
    struct poller *poller = listener->data;

    (void)status, (void)events;
    poller->events++;
    acceptor_accept(&poller->acceptor);
}

static void on_pending(uv_poll_t *pending, int status, int events)
{
    struct poller *poller = pending->data;

    (void)status, (void)events;
    poller->events++;
    acceptor_run(&poller->acceptor);
}

static int watch_acceptor(struct poller *poller, uv_poll_t *poll, int fd, uv_poll_cb on_event)
{
    int result = uv_poll_init(&poller->loop, poll, fd);

    poll->data = poller;
    return result < 0 ? result : uv_poll_start(poll, UV_READABLE, on_event);
}

int poll_open_acceptor(struct poller *poller)
{
    int result = acceptor_open(&poller->acceptor, &poller->turns, true);

    if (result == 0)
        result = watch_acceptor(poller, &poller->listener, poller->turns.duty->dial->listener, on_listener);
    return result < 0 ? result
                      : watch_acceptor(poller, &poller->pending, poller->acceptor.pending_fd, on_pending);
}

void poll_close_acceptor(struct poller *poller)
{
    if (poller->listener.loop)
        uv_close((uv_handle_t *)&poller->listener, NULL);
    if (poller->pending.loop)
        uv_close((uv_handle_t *)&poller->pending, NULL);
}
