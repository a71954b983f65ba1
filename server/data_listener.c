/* SPDX-License-Identifier: MIT */
#include "data_listener.h"

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/secret.h"
#include "measure/facts.h"
#include "net/sockets.h"
#include "transport/transport.h"

#define PENDING_MAX 16384 /* connections without a complete hello at the same time */

struct pending {
    uv_poll_t poll; /* first member: cast to uv_handle_t; its data is the listener */
    int fd;         /* -1: the owner of the listener owns it */
    size_t size;
    uint8_t hello[SINK_HELLO_SIZE]; /* its first `hello_size` bytes are used */
};

/* ---- the socket ---- */

int data_listener_open(struct data_listener *listener, const struct plan *plan, enum end end,
                       struct channel *control, struct problem *problem)
{
    struct address control_address, *data = &listener->address;
    bool is_for_proxy = end == END_SERVER && plan_neighbour(plan, end) == END_PROXY;
    uv_os_fd_t fd;

    listener->plan = plan;
    listener->hello_size = is_for_proxy ? SINK_HELLO_SIZE : HELLO_SIZE;
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

static void on_closed(uv_handle_t *handle)
{
    struct data_listener *listener = handle->data;

    if (handle != (uv_handle_t *)&listener->poll) {
        struct pending *pending = (struct pending *)handle;

        if (pending->fd >= 0)
            close(pending->fd);
        free(pending);
    }
    if (--listener->open_handles > 0)
        return;
    free(listener->has_joined);
    listener->events->closed(listener->owner);
}

static void reject(struct pending *pending)
{
    struct data_listener *listener = pending->poll.data;

    listener->strangers++;
    uv_close((uv_handle_t *)&pending->poll, on_closed);
}

/* Rejects a complete hello: wrong token, number already taken, or the answer cannot be sent. */
static void check_hello(struct pending *pending)
{
    struct data_listener *listener = pending->poll.data;
    uint8_t answer[SINK_ANSWER_SIZE];
    bool answers = listener->hello_size == SINK_HELLO_SIZE;
    int64_t number =
        answers ? sink_hello_read(pending->hello, listener->token, listener->plan->connections, answer)
                : hello_read(pending->hello, listener->token, listener->plan->connections);
    int fd = pending->fd;

    if (number < 0 || listener->has_joined[number] ||
        (answers && send(fd, answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer)) {
        reject(pending);
        return;
    }
    listener->has_joined[number] = true;
    pending->fd = -1;
    uv_close((uv_handle_t *)&pending->poll, on_closed);
    listener->events->joined(listener->owner, (size_t)number, fd);
}

/* Reads no byte after the hello: the next ones belong to the run. */
static void on_pending_readable(uv_poll_t *poll, int status, int events)
{
    struct pending *pending = (struct pending *)poll;
    size_t hello_size = ((struct data_listener *)poll->data)->hello_size;
    ssize_t size;

    (void)events;
    size = status < 0 ? 0 : recv(pending->fd, pending->hello + pending->size, hello_size - pending->size, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0) {
        reject(pending);
        return;
    }
    pending->size += (size_t)size;
    if (pending->size == hello_size)
        check_hello(pending);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct data_listener *listener = poll->data;
    int fd;

    (void)status, (void)events;
    while ((fd = sockets_accept(listener->fd, false)) >= 0) {
        struct pending *pending = listener->open_handles <= PENDING_MAX ? calloc(1, sizeof *pending) : NULL;

        if (!pending || uv_poll_init(poll->loop, &pending->poll, fd) < 0) {
            listener->strangers++;
            free(pending);
            close(fd);
            continue;
        }
        pending->poll.data = listener;
        pending->fd = fd;
        listener->open_handles++;
        uv_poll_start(&pending->poll, UV_READABLE | UV_DISCONNECT, on_pending_readable);
    }
}

void data_listener_accept(struct data_listener *listener, uv_loop_t *loop,
                          const struct data_listener_events *events, void *owner)
{
    listener->accepts = true;
    listener->has_joined = needed(calloc(listener->plan->connections, sizeof *listener->has_joined));
    listener->events = events;
    listener->owner = owner;
    uv_poll_init(loop, &listener->poll, listener->fd);
    listener->poll.data = listener;
    listener->open_handles = 1;
    uv_poll_start(&listener->poll, UV_READABLE, on_connection);
}

static void close_handle(uv_handle_t *handle, void *listener)
{
    if (handle->data == listener && !uv_is_closing(handle))
        uv_close(handle, on_closed);
}

void data_listener_close(struct data_listener *listener)
{
    if (!listener->is_open)
        return;
    listener->is_open = false;
    if (listener->accepts)
        uv_walk(listener->poll.loop, close_handle, listener);
    if (listener->fd >= 0)
        close(listener->fd);
    address_unlink(&listener->address);
}
