/* SPDX-License-Identifier: MIT */
#include "data_listener.h"

#include "base/hex.h"
#include "base/secret.h"
#include "measure/facts.h"

#include <unistd.h>

#define LATE_MAX 16384 /* connections without a complete hello at the same time */
#define ACCEPTS_PER_EVENT 1024

/* ---- the socket ---- */

int data_listener_open(struct data_listener *listener, const struct plan *plan, enum end end,
                       struct channel *control, struct problem *problem)
{
    struct address control_address, *data = &listener->address;
    uv_os_fd_t fd;

    listener->plan = plan;
    listener->control = control;
    if (uv_fileno(&control->handle, &fd) < 0 || address_of_socket(&control_address, fd) < 0)
        return problem_failure(problem, "the control connection is closed");
    if (plan->transport->data_address(data, &control_address, problem) < 0)
        return -1;
    listener->fd = transport_socket(plan, end, data, problem);
    if (listener->fd >= 0)
        listener->fd = address_listen(listener->fd, data, problem);
    listener->is_open = listener->fd >= 0;
    if (!listener->is_open) {
        address_unlink(data);
        return -1;
    }
    if (uv_random(NULL, NULL, listener->token, sizeof listener->token, 0, NULL) < 0 ||
        uv_random(NULL, NULL, listener->key, sizeof listener->key, 0, NULL) < 0)
        return problem_failure(problem, "cannot get random numbers for a token and a key");
    return 0;
}

void data_listener_send_ready(const struct data_listener *listener)
{
    const struct plan *plan = listener->plan;
    enum handshake handshake = listener->by_certificate ? HANDSHAKE_CERTIFICATE : plan->handshake;
    char token[2 * TOKEN_SIZE + 1], key[2 * SECURITY_KEY_SIZE + 1] = "";

    hex_format(token, listener->token, sizeof listener->token);
    if (plan->encrypts)
        hex_format(key, listener->key, sizeof listener->key);
    channel_send(listener->control, CONTROL_READY,
                 json_pack("{s:i, s:s, s:s, s:s, s:s, s:s}", "port", address_port(&listener->address), "path",
                           address_path(&listener->address), "token", token, "key", key, "handshake",
                           handshake_names[handshake], "host", facts_host_id()));
    secret_wipe(key, sizeof key);
}

/* ---- connections ---- */

/* False: wrong token, number already taken, or the answer cannot be sent. */
static bool on_hello(void *owner, const uint8_t *hello, int fd)
{
    struct data_listener *listener = owner;
    uint64_t connections = listener->plan->connections;
    uint8_t answer[SINK_ANSWER_SIZE];
    bool answers = listener->hellos.hello_size == SINK_HELLO_SIZE;
    int64_t number = answers ? sink_hello_read(hello, listener->token, connections, answer)
                             : hello_read(hello, listener->token, connections);

    if (number < 0 || team_has_descriptor(listener->team, (size_t)number) ||
        (answers && send(fd, answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer))
        return false;
    team_set_descriptor(listener->team, (size_t)number, fd);
    if (++listener->joined == connections)
        client_session_joined(listener->client);
    return true;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events;
    hello_acceptor_accept(&((struct data_listener *)poll->data)->hellos, ACCEPTS_PER_EVENT);
}

void data_listener_accept(struct data_listener *listener, struct team *team)
{
    bool is_sink = team->end == END_SERVER && plan_neighbour(listener->plan, END_SERVER) == END_PROXY;
    listener->team = team;
    listener->hellos = (struct hello_acceptor){.listener = listener->fd,
                                               .hello_size = is_sink ? SINK_HELLO_SIZE : HELLO_SIZE,
                                               .late_max = LATE_MAX,
                                               .loop = team->watch.loop,
                                               .counts = &listener->counts,
                                               .rejected = &listener->strangers,
                                               .on_hello = on_hello,
                                               .owner = listener};
    hello_acceptor_open(&listener->hellos);
    uv_poll_init(team->watch.loop, &listener->poll, listener->fd);
    listener->poll.data = listener;
    uv_poll_start(&listener->poll, UV_READABLE, on_connection);
}

static void on_closed(uv_handle_t *poll)
{
    client_session_part_closed(((struct data_listener *)poll->data)->client);
}

void data_listener_close(struct data_listener *listener)
{
    if (!listener->is_open)
        return;
    listener->is_open = false;
    if (listener->team) {
        hello_acceptor_close(&listener->hellos);
        uv_close((uv_handle_t *)&listener->poll, on_closed);
    }
    if (listener->fd >= 0)
        close(listener->fd);
    address_unlink(&listener->address);
}
