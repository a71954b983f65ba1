/* SPDX-License-Identifier: MIT */
/* Services for foreign clients, in one loop for all connections. If a client does not read its
 * echo, the server stops reading from it, so at most one buffer is unsent. Only then the set of
 * wanted events changes. While bytes flow, the only calls are recv, send and one wait for all ready
 * connections. */
#include "modes.h"
#include "transport/transport.h"
#include "words/word.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)64 * 1024)
#define BUFFERS_PER_EVENT 16 /* full buffers of one connection before the next one's turn */

/* RFC 864: lines of 72 of the 95 printable characters; each line starts one character later. The
 * pattern repeats after 95 lines. */
#define PRINTABLE 95
#define LINE_CHARACTERS 72
#define LINE_BYTES (LINE_CHARACTERS + 2)
#define PATTERN_BYTES ((size_t)PRINTABLE * LINE_BYTES)
#define PATTERNS_BYTES (BUFFER_BYTES / PATTERN_BYTES * PATTERN_BYTES) /* whole patterns */

struct plain {
    struct listener listener;
    const struct service *service;
    struct plan plan;          /* socket options: those of a run without words */
    size_t count;              /* connections */
    char buffer[BUFFER_BYTES]; /* of the current connection */
};

/* A foreign client's connection. */
struct client {
    uv_poll_t poll; /* first member: cast to uv_handle_t */
    struct plain *plain;
    int fd;
    int waits_for; /* UV_READABLE, UV_WRITABLE */
    char *unsent;  /* echo: unsent bytes, at most one buffer; NULL until needed */
    size_t unsent_size;
    size_t pattern_at; /* chargen: offset in the patterns */
};

struct service {
    struct variant variant;
    int (*serve)(struct client *client, int ready); /* returns the events to wait for; 0: close */
};

/* Returns the bytes that a call moved; 0 if it would block, -1 if the connection has failed. */
static ssize_t moved(ssize_t result)
{
    return result >= 0 ? result : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

/* Receives into the shared buffer. Returns -1 at end of file too. */
static ssize_t receive(struct client *client)
{
    ssize_t size = recv(client->fd, client->plain->buffer, BUFFER_BYTES, 0);
    return size == 0 ? -1 : moved(size);
}

/* ---- services ---- */

/* Keeps the unsent rest of a buffer. */
static int keep_unsent(struct client *client, const char *rest, size_t size)
{
    if (!client->unsent && !(client->unsent = malloc(BUFFER_BYTES)))
        return 0;
    memmove(client->unsent, rest, size);
    client->unsent_size = size;
    return UV_WRITABLE;
}

/* Reads only if no bytes are unsent. So it sees end of file after all bytes have been sent back. */
static int echo_serve(struct client *client, int ready)
{
    ssize_t size = BUFFER_BYTES, sent;
    if (client->unsent_size) {
        if ((sent = moved(send(client->fd, client->unsent, client->unsent_size, 0))) < 0)
            return 0;
        if ((size_t)sent < client->unsent_size)
            return keep_unsent(client, client->unsent + sent, client->unsent_size - (size_t)sent);
        client->unsent_size = 0;
    }
    for (int i = 0; i < BUFFERS_PER_EVENT && size == BUFFER_BYTES; i++) {
        size = receive(client);
        sent = size > 0 ? moved(send(client->fd, client->plain->buffer, (size_t)size, 0)) : size;
        if (sent < 0)
            return 0;
        if (sent < size)
            return keep_unsent(client, client->plain->buffer + sent, (size_t)(size - sent));
    }
    return UV_READABLE;
}

static int discard_serve(struct client *client, int ready)
{
    ssize_t size = BUFFER_BYTES;
    for (int i = 0; i < BUFFERS_PER_EVENT && size == BUFFER_BYTES; i++)
        if ((size = receive(client)) < 0)
            return 0;
    return UV_READABLE;
}

static char patterns[PATTERNS_BYTES];

static int chargen_serve(struct client *client, int ready)
{
    if ((ready & UV_READABLE) && !discard_serve(client, ready))
        return 0;
    for (int i = 0; i < BUFFERS_PER_EVENT && (ready & UV_WRITABLE); i++) {
        size_t left = PATTERNS_BYTES - client->pattern_at;
        ssize_t sent = moved(send(client->fd, patterns + client->pattern_at, left, 0));

        if (sent < 0)
            return 0;
        client->pattern_at = (client->pattern_at + (size_t)sent) % PATTERNS_BYTES;
        if ((size_t)sent < left)
            break;
    }
    return UV_READABLE | UV_WRITABLE;
}

static const struct service list[] = {
    {{"echo", "sends back what comes (RFC 862)"}, echo_serve},
    {{"discard", "discards what comes (RFC 863)"}, discard_serve},
    {{"chargen", "sends lines of characters without end, discards what comes (RFC 864)"}, chargen_serve},
};

static const struct variant *const services[] = {&list[0].variant, &list[1].variant, &list[2].variant};

const struct axis plain_axis = {"plain service", services, sizeof services / sizeof *services};

/* ---- connections ---- */

static void on_closed(uv_handle_t *handle)
{
    struct client *client = (struct client *)handle;
    listener_set_occupied(&client->plain->listener, --client->plain->count > 0);
    close(client->fd);
    free(client->unsent);
    free(client);
}

static void on_ready(uv_poll_t *poll, int status, int ready)
{
    struct client *client = (struct client *)poll;
    int next = status < 0 ? 0 : client->plain->service->serve(client, ready);
    if (!next)
        uv_close((uv_handle_t *)poll, on_closed);
    else if (next != client->waits_for)
        uv_poll_start(poll, client->waits_for = next, on_ready);
}

static void on_accepted(void *owner, int fd)
{
    struct plain *plain = owner;
    bool has_room = plain->count < plain->listener.options->limits[LIMIT_CLIENTS];
    struct client *client = has_room ? calloc(1, sizeof *client) : NULL;
    struct problem ignored = {0};
    struct address peer;

    if (!has_room)
        listener_rejected(&plain->listener, listener_peer(&peer, fd), "--max-clients are connected already");
    if (!client || transport_prepare(&plain->plan, END_SERVER, fd, &ignored) < 0 ||
        uv_poll_init(&plain->listener.loop, &client->poll, fd) < 0) {
        free(client);
        close(fd);
        return;
    }
    client->plain = plain;
    client->fd = fd;
    plain->count++;
    listener_set_occupied(&plain->listener, true);
    on_ready(&client->poll, 0, UV_READABLE | UV_WRITABLE);
}

/* The listener has closed its own poll handle. The remaining ones are connections. */
static void close_client(uv_handle_t *handle, void *argument)
{
    if (handle->type == UV_POLL && !uv_is_closing(handle))
        uv_close(handle, on_closed);
}

static void on_stopped(void *owner)
{
    struct plain *plain = owner;
    uv_walk(&plain->listener.loop, close_client, NULL);
}

void plain_run(struct options *options, struct problem *problem)
{
    const char *word = options->address.any.sa_family == AF_UNIX ? "transport=unix" : "transport=tcp";
    struct plain plain = {
        .listener = {.options = options, .accepted = on_accepted, .stopped = on_stopped, .owner = &plain},
        .service = (const struct service *)options->plain, /* the variant is the first member */
    };
    for (size_t i = 0; i < PATTERNS_BYTES; i++) {
        size_t line = i / LINE_BYTES, column = i % LINE_BYTES;
        if (column < LINE_CHARACTERS)
            patterns[i] = (char)(' ' + (line + column) % PRINTABLE);
        else
            patterns[i] = column == LINE_CHARACTERS ? '\r' : '\n';
    }
    if (clients_fit(options, 1, problem) == 0 && plan_parse(&plain.plan, &word, 1, problem) == 0)
        listener_serve(&plain.listener, &plain.plan, problem);
    plan_free(&plain.plan);
}
