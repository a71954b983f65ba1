/* SPDX-License-Identifier: MIT */
#include "data_listener.h"

#include "base/bytes.h"
#include "measure/facts.h"
#include "transport/transport.h"

#include <inttypes.h>
#include <stdlib.h>
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
    listener->end = end;
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
    listener->has_joined = calloc(plan->connections, sizeof *listener->has_joined);
    if (!listener->has_joined)
        return problem_failure(problem, "no memory to accept %" PRIu64 " connections", plan->connections);
    return 0;
}

json_t *data_listener_describe(const struct data_listener *listener)
{
    char token[2 * TOKEN_SIZE + 1], key[2 * SECURITY_KEY_SIZE + 1] = "";
    json_t *body;

    hex_format(token, listener->token, sizeof listener->token);
    if (listener->plan->encrypts)
        hex_format(key, listener->key, sizeof listener->key);
    body = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:s}", "port", address_port(&listener->address), "path",
        address_path(&listener->address), "token", token, "key", key, "handshake",
        handshake_names[listener->by_certificate ? HANDSHAKE_CERTIFICATE : listener->plan->handshake], "host",
        facts_host_id());
    secret_wipe(key, sizeof key);
    return body;
}

/* ---- connections ---- */

/* False: wrong token, number already taken, or the answer cannot be sent. */
static bool on_hello(void *owner, const uint8_t *hello, int fd)
{
    struct data_listener *listener = owner;
    uint8_t answer[SINK_ANSWER_SIZE];
    bool answers = listener->hellos.hello_size == SINK_HELLO_SIZE;
    int64_t number = answers ? sink_hello_read(hello, listener->token, listener->plan->connections, answer)
                             : hello_read(hello, listener->token, listener->plan->connections);

    if (number < 0 || listener->has_joined[number] ||
        (answers && send(fd, answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer))
        return false;
    listener->has_joined[number] = true;
    listener->events->joined(listener->owner, (size_t)number, fd);
    return true;
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct data_listener *listener = poll->data;

    (void)status, (void)events;
    hello_acceptor_accept(&listener->hellos, ACCEPTS_PER_EVENT);
}

void data_listener_accept(struct data_listener *listener, uv_loop_t *loop,
                          const struct data_listener_events *events, void *owner)
{
    bool is_for_proxy =
        listener->end == END_SERVER && plan_neighbour(listener->plan, END_SERVER) == END_PROXY;

    listener->accepts = true;
    listener->events = events;
    listener->owner = owner;
    listener->hellos = (struct hello_acceptor){.listener = listener->fd,
                                               .hello_size = is_for_proxy ? SINK_HELLO_SIZE : HELLO_SIZE,
                                               .late_max = LATE_MAX,
                                               .loop = loop,
                                               .counts = &listener->counts,
                                               .rejected = &listener->strangers,
                                               .on_hello = on_hello,
                                               .owner = listener};
    hello_acceptor_open(&listener->hellos);
    uv_poll_init(loop, &listener->poll, listener->fd);
    listener->poll.data = listener;
    uv_poll_start(&listener->poll, UV_READABLE, on_connection);
}

static void on_closed(uv_handle_t *handle)
{
    struct data_listener *listener = handle->data;

    listener->events->closed(listener->owner);
}

void data_listener_close(struct data_listener *listener)
{
    if (!listener->is_open)
        return;
    listener->is_open = false;
    if (listener->accepts) {
        hello_acceptor_close(&listener->hellos);
        uv_close((uv_handle_t *)&listener->poll, on_closed);
    }
    if (listener->fd >= 0)
        close(listener->fd);
    free(listener->has_joined);
    address_unlink(&listener->address);
}
