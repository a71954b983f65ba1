/* SPDX-License-Identifier: MIT */
#include "client_session.h"

#include "base/bytes.h"
#include "measure/facts.h"

#include <unistd.h>

#define LATE_MAX 16384 /* connections without a complete hello at the same time */
#define ACCEPTS_PER_EVENT 1024

int data_listener_open(struct client_session *client, struct problem *problem)
{
    const struct plan *plan = &client->plan;
    struct data_listener *data = &client->data;
    struct address control;
    uv_os_fd_t fd;

    if (uv_fileno(&client->channel.handle, &fd) < 0 || address_of_socket(&control, fd) < 0)
        return problem_failure(problem, "the control connection is closed");
    if (plan->transport->data_address(&data->address, &control, problem) < 0)
        return -1;
    data->fd = transport_socket(plan, client->end, &data->address, problem);
    if (data->fd >= 0)
        data->fd = address_listen(data->fd, &data->address, problem);
    data->is_open = data->fd >= 0;
    if (!data->is_open) {
        address_unlink(&data->address);
        return -1;
    }
    if (uv_random(NULL, NULL, data->token, sizeof data->token, 0, NULL) < 0 ||
        uv_random(NULL, NULL, data->key, sizeof data->key, 0, NULL) < 0)
        return problem_failure(problem, "cannot get random numbers for a token and a key");
    return 0;
}

void data_listener_send_ready(struct client_session *client)
{
    const struct data_listener *data = &client->data;
    enum handshake handshake = data->by_certificate ? HANDSHAKE_CERTIFICATE : client->plan.handshake;
    char token[2 * TOKEN_SIZE + 1], key[2 * SECURITY_KEY_SIZE + 1] = "";

    hex_format(token, data->token, sizeof data->token);
    if (client->plan.encrypts)
        hex_format(key, data->key, sizeof data->key);
    channel_send(&client->channel, CONTROL_READY,
                 json_pack("{s:i, s:s, s:s, s:s, s:s, s:s}", "port", address_port(&data->address), "path",
                           address_path(&data->address), "token", token, "key", key, "handshake",
                           handshake_names[handshake], "host", facts_host_id()));
    secret_wipe(key, sizeof key);
}

/* False: wrong token, number already taken, or the answer cannot be sent. */
static bool on_hello(void *owner, const uint8_t *hello, int fd)
{
    struct client_session *client = owner;
    struct data_listener *data = &client->data;
    uint64_t connections = client->plan.connections;
    uint8_t answer[SINK_ANSWER_SIZE];
    bool answers = data->hellos.sink_token;
    int64_t number = answers ? sink_hello_read(hello, data->token, connections, answer)
                             : hello_read(hello, data->token, connections);

    struct connection *connection = number < 0 ? NULL : team_numbered(&client->team, (size_t)number);
    if (!connection || connection->calls.fd >= 0 ||
        (answers && send(fd, answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer))
        return false;
    connection->calls.fd = fd;
    if (++data->joined == connections) {
        data_listener_close(client);
        client_session_start_team(client);
    }
    return true;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    hello_acceptor_accept(&((struct client_session *)poll->data)->data.hellos, ACCEPTS_PER_EVENT);
}

int data_listener_accept(struct client_session *client, struct problem *problem)
{
    struct data_listener *data = &client->data;
    uv_loop_t *loop = client->session.timer.loop;
    bool is_sink = client->end == END_SERVER && plan_neighbour(&client->plan, END_SERVER) == END_PROXY;

    int result = uv_poll_init(loop, &data->poll, data->fd);
    if (result < 0)
        return problem_failure(problem, "cannot watch the socket of data connections: %s",
                               uv_strerror(result));
    data->accepts = true;
    data->hellos = (struct hello_acceptor){.listener = data->fd,
                                           .sink_token = is_sink ? data->token : NULL,
                                           .late_max = LATE_MAX,
                                           .loop = loop,
                                           .counts = &data->counts,
                                           .rejected = &data->strangers,
                                           .on_hello = on_hello,
                                           .owner = client};
    hello_acceptor_open(&data->hellos);
    data->poll.data = client;
    client->open_parts++;
    uv_poll_start(&data->poll, UV_READABLE, on_connection);
    return 0;
}

void data_listener_close(struct client_session *client)
{
    struct data_listener *data = &client->data;
    if (!data->is_open)
        return;
    data->is_open = false;
    if (data->accepts) {
        hello_acceptor_close(&data->hellos);
        uv_close((uv_handle_t *)&data->poll, client_session_handle_closed);
    }
    if (data->fd >= 0)
        close(data->fd);
    address_unlink(&data->address);
}
