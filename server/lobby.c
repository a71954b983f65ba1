/* SPDX-License-Identifier: MIT */
#include "lobby.h"

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/secret.h"
#include "measure/facts.h"
#include "net/sockets.h"
#include "transport/transport.h"

#include <string.h>

#define PENDING_MAX 16384 /* connections without a complete hello at the same time */

struct pending {
    uv_poll_t poll; /* first member: cast to uv_handle_t; its data is the lobby */
    int fd;         /* -1: the owner has it */
    size_t size;
    uint8_t hello[SINK_HELLO_SIZE]; /* its first `hello_size` bytes are used */
};

/* ---- the socket ---- */

int lobby_listen(struct lobby *lobby, const struct plan *plan, enum end end, struct channel *control,
                 struct problem *problem)
{
    struct address control_address, *data = &lobby->address;
    bool is_for_proxy = end == END_SERVER && plan_neighbour(plan, end) == END_PROXY;
    uv_os_fd_t fd;

    lobby->plan = plan;
    lobby->hello_size = is_for_proxy ? SINK_HELLO_SIZE : HELLO_SIZE;
    if (uv_fileno(&control->handle, &fd) < 0 || address_of_socket(&control_address, fd) < 0 ||
        plan->transport->data_address(data, &control_address) < 0)
        return problem_failure(problem, "cannot choose an address for data connections");
    lobby->fd = transport_socket(plan, end, data, problem);
    if (lobby->fd >= 0)
        lobby->fd = address_listen(lobby->fd, data, problem);
    lobby->is_open = lobby->fd >= 0;
    if (!lobby->is_open) {
        address_unlink(data, true);
        return -1;
    }
    if (uv_random(NULL, NULL, lobby->token, sizeof lobby->token, 0, NULL) < 0 ||
        uv_random(NULL, NULL, lobby->key, sizeof lobby->key, 0, NULL) < 0)
        return problem_failure(problem, "no random numbers for a token and a key");
    return 0;
}

json_t *lobby_describe(const struct lobby *lobby)
{
    char token[2 * TOKEN_SIZE + 1], key[2 * SECURITY_KEY_SIZE + 1] = "";
    json_t *body;

    hex_format(token, lobby->token, sizeof lobby->token);
    if (lobby->plan->encrypts)
        hex_format(key, lobby->key, sizeof lobby->key);
    body = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s}", "port", address_port(&lobby->address), "path",
                     address_path(&lobby->address), "token", token, "key", key, "handshake",
                     handshake_names[lobby->by_certificate ? HANDSHAKE_CERTIFICATE : lobby->plan->handshake],
                     "host", facts_host_id());
    secret_wipe(key, sizeof key);
    return body;
}

/* ---- connections ---- */

static void on_closed(uv_handle_t *handle)
{
    struct lobby *lobby = handle->data;

    if (handle != (uv_handle_t *)&lobby->listener) {
        struct pending *pending = (struct pending *)handle;

        if (pending->fd >= 0)
            close(pending->fd);
        free(pending);
    }
    if (--lobby->open_handles > 0)
        return;
    free(lobby->here);
    lobby->events->closed(lobby->owner);
}

static void reject(struct pending *pending)
{
    struct lobby *lobby = pending->poll.data;

    lobby->strangers++;
    uv_close((uv_handle_t *)&pending->poll, on_closed);
}

/* The hello is complete. Rejects it if the token is wrong, the number is taken, or the answer cannot
 * be sent. */
static void admit(struct pending *pending)
{
    struct lobby *lobby = pending->poll.data;
    uint8_t answer[SINK_ANSWER_SIZE];
    bool answers = lobby->hello_size == SINK_HELLO_SIZE;
    int64_t number = answers ? sink_hello_read(pending->hello, lobby->token, lobby->plan->connections, answer)
                             : hello_read(pending->hello, lobby->token, lobby->plan->connections);
    int fd = pending->fd;

    if (number < 0 || lobby->here[number] ||
        (answers && send(fd, answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer)) {
        reject(pending);
        return;
    }
    lobby->here[number] = true;
    pending->fd = -1;
    uv_close((uv_handle_t *)&pending->poll, on_closed);
    lobby->events->joined(lobby->owner, (size_t)number, fd);
}

/* Reads no byte after the hello: the next ones belong to the run. */
static void on_pending_readable(uv_poll_t *poll, int status, int events)
{
    struct pending *pending = (struct pending *)poll;
    size_t hello_size = ((struct lobby *)poll->data)->hello_size;
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
        admit(pending);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct lobby *lobby = poll->data;
    int fd;

    (void)status, (void)events;
    while ((fd = sockets_accept(lobby->fd, false)) >= 0) {
        struct pending *pending = lobby->open_handles <= PENDING_MAX ? calloc(1, sizeof *pending) : NULL;

        if (!pending || uv_poll_init(poll->loop, &pending->poll, fd) < 0) {
            lobby->strangers++;
            free(pending);
            close(fd);
            continue;
        }
        pending->poll.data = lobby;
        pending->fd = fd;
        lobby->open_handles++;
        uv_poll_start(&pending->poll, UV_READABLE | UV_DISCONNECT, on_pending_readable);
    }
}

void lobby_accept(struct lobby *lobby, uv_loop_t *loop, const struct lobby_events *events, void *owner)
{
    lobby->accepts = true;
    lobby->here = needed(calloc(lobby->plan->connections, sizeof *lobby->here));
    lobby->events = events;
    lobby->owner = owner;
    uv_poll_init(loop, &lobby->listener, lobby->fd);
    lobby->listener.data = lobby;
    lobby->open_handles = 1;
    uv_poll_start(&lobby->listener, UV_READABLE, on_connection);
}

static void close_handle(uv_handle_t *handle, void *lobby)
{
    if (handle->data == lobby && !uv_is_closing(handle))
        uv_close(handle, on_closed);
}

void lobby_close(struct lobby *lobby)
{
    if (!lobby->is_open)
        return;
    lobby->is_open = false;
    if (lobby->accepts)
        uv_walk(lobby->listener.loop, close_handle, lobby);
    if (lobby->fd >= 0)
        close(lobby->fd);
    address_unlink(&lobby->address, true);
}
