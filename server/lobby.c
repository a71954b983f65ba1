/* SPDX-License-Identifier: MIT */
#include "lobby.h"

#include "net/sockets.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GUESTS_MAX 16384 /* connections without a complete hello at the same time */

struct guest {
    uv_poll_t poll; /* first member: cast to uv_handle_t */
    struct lobby *lobby;
    struct guest *next;
    int fd; /* -1: the owner has it */
    size_t size;
    uint8_t hello[SINK_HELLO_SIZE]; /* its first `hello_size` bytes are used */
};

static void try_closed(struct lobby *lobby)
{
    if (!lobby->closing || !lobby->listener_closed || lobby->guests)
        return;
    free(lobby->here);
    lobby->events->closed(lobby->owner);
}

static void on_guest_closed(uv_handle_t *handle)
{
    struct guest *guest = (struct guest *)handle;
    struct lobby *lobby = guest->lobby;
    struct guest **at = &lobby->guests;

    while (*at != guest)
        at = &(*at)->next;
    *at = guest->next;
    lobby->guest_count--;
    if (guest->fd >= 0)
        close(guest->fd);
    free(guest);
    try_closed(lobby);
}

static void dismiss(struct guest *guest, bool stranger)
{
    if (uv_is_closing((uv_handle_t *)&guest->poll))
        return;
    guest->lobby->strangers += stranger;
    uv_close((uv_handle_t *)&guest->poll, on_guest_closed);
}

/* Returns the number of the connection. Returns -1 if the token is wrong, the number is taken,
 * or the answer cannot be sent. */
static int64_t find_place(const struct guest *guest)
{
    const struct lobby *lobby = guest->lobby;
    uint8_t answer[SINK_ANSWER_SIZE];
    bool answers = lobby->hello_size == SINK_HELLO_SIZE;
    int64_t number = answers ? sink_hello_read(guest->hello, lobby->token, lobby->expected, answer)
                             : hello_read(guest->hello, lobby->token, lobby->expected);

    if (number < 0 || lobby->here[number])
        return -1;
    if (answers && send(guest->fd, answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer)
        return -1;
    return number;
}

static void admit(struct guest *guest)
{
    struct lobby *lobby = guest->lobby;
    int64_t index = find_place(guest);
    int fd = guest->fd;

    if (index < 0) {
        dismiss(guest, true);
        return;
    }
    lobby->here[index] = true;
    guest->fd = -1;
    uv_poll_stop(&guest->poll);
    dismiss(guest, false);
    lobby->events->joined(lobby->owner, (size_t)index, fd);
}

/* Reads no byte after the hello: the next ones belong to the run. */
static void on_guest_readable(uv_poll_t *poll, int status, int events)
{
    struct guest *guest = (struct guest *)poll;
    size_t hello_size = guest->lobby->hello_size;
    ssize_t size;

    (void)events;
    size = status < 0 ? 0 : recv(guest->fd, guest->hello + guest->size, hello_size - guest->size, 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0) {
        dismiss(guest, true);
        return;
    }
    guest->size += (size_t)size;
    if (guest->size == hello_size)
        admit(guest);
}

static void welcome(struct lobby *lobby, int fd)
{
    struct guest *guest = lobby->guest_count < GUESTS_MAX ? calloc(1, sizeof *guest) : NULL;

    if (!guest || uv_poll_init(lobby->listener.loop, &guest->poll, fd) < 0) {
        lobby->strangers++;
        free(guest);
        close(fd);
        return;
    }
    guest->lobby = lobby;
    guest->fd = fd;
    guest->next = lobby->guests;
    lobby->guests = guest;
    lobby->guest_count++;
    uv_poll_start(&guest->poll, UV_READABLE | UV_DISCONNECT, on_guest_readable);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct lobby *lobby = poll->data;
    int fd;

    (void)status, (void)events;
    while ((fd = sockets_accept(lobby->fd, false)) >= 0)
        welcome(lobby, fd);
}

int lobby_open(struct lobby *lobby, uv_loop_t *loop, const struct lobby_guests *guests,
               const struct lobby_events *events, void *owner, struct problem *problem)
{
    *lobby = (struct lobby){.fd = guests->fd,
                            .address = guests->address,
                            .hello_size = guests->is_for_proxy ? SINK_HELLO_SIZE : HELLO_SIZE,
                            .expected = guests->expected,
                            .events = events,
                            .owner = owner};
    memcpy(lobby->token, guests->token, sizeof lobby->token);
    uv_poll_init(loop, &lobby->listener, guests->fd);
    lobby->listener.data = lobby;
    lobby->here = calloc(guests->expected, sizeof *lobby->here);
    if (!lobby->here)
        return problem_failure(problem, "out of memory for %zu data connections", guests->expected);
    uv_poll_start(&lobby->listener, UV_READABLE, on_connection);
    return 0;
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct lobby *lobby = handle->data;

    lobby->listener_closed = true;
    try_closed(lobby);
}

void lobby_close(struct lobby *lobby)
{
    if (lobby->closing)
        return;
    lobby->closing = true;
    uv_poll_stop(&lobby->listener);
    uv_close((uv_handle_t *)&lobby->listener, on_listener_closed);
    close(lobby->fd);
    address_unlink(&lobby->address, true);
    for (struct guest *guest = lobby->guests; guest; guest = guest->next)
        dismiss(guest, false);
}
