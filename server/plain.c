/* SPDX-License-Identifier: MIT */
/* One loop for all connections. If a client does not read its echo, the server stops reading
 * from it: at most one buffer of it is held. The set of wanted events changes only then. While
 * bytes flow, the only calls are recv, send and one wait for all ready connections. */
#include "listener.h"
#include "plan/plan.h"
#include "server.h"
#include "transport/transport.h"
#include "words/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)64 * 1024)
#define TURN_BUFFERS 16 /* full buffers of one connection before the next one's turn */

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
    char buffer[BUFFER_BYTES]; /* of the current connection */
};

/* A foreign client's connection. */
struct caller {
    uv_poll_t poll; /* first member: cast to uv_handle_t */
    struct plain *plain;
    int fd;
    int waits_for; /* UV_READABLE, UV_WRITABLE */
    char *held;    /* echo: unsent bytes, one buffer; NULL until needed */
    size_t held_from, held_to;
    size_t pattern_at; /* chargen: offset in the patterns */
};

struct service {
    struct variant variant;
    int (*serve)(struct caller *caller, int ready); /* returns the events to wait for; 0: close */
};

/* ---- calls ---- */

/* Bytes that a call on a socket moved; 0 if it would block, -1 if the connection is over. */
static ssize_t moved(ssize_t result)
{
    return result >= 0 ? result : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

/* Fills the shared buffer. End of file returns -1 too. */
static ssize_t take(struct caller *caller)
{
    ssize_t size = recv(caller->fd, caller->plain->buffer, BUFFER_BYTES, 0);

    return size == 0 ? -1 : moved(size);
}

static ssize_t give(struct caller *caller, const char *data, size_t size)
{
    return moved(send(caller->fd, data, size, 0));
}

/* ---- services ---- */

/* Keeps the unsent rest of the shared buffer. */
static int hold(struct caller *caller, size_t from, size_t to)
{
    if (!caller->held && !(caller->held = malloc(BUFFER_BYTES)))
        return 0;
    memcpy(caller->held, caller->plain->buffer + from, to - from);
    caller->held_from = 0;
    caller->held_to = to - from;
    return UV_WRITABLE;
}

/* Reads only if no bytes are held: so end of file comes after all bytes are sent back. */
static int echo_serve(struct caller *caller, int ready)
{
    ssize_t size = BUFFER_BYTES, sent;

    (void)ready;
    if (caller->held_from < caller->held_to) {
        sent = give(caller, caller->held + caller->held_from, caller->held_to - caller->held_from);
        if (sent < 0)
            return 0;
        caller->held_from += (size_t)sent;
        if (caller->held_from < caller->held_to)
            return UV_WRITABLE;
    }
    for (int i = 0; i < TURN_BUFFERS && size == BUFFER_BYTES; i++) {
        size = take(caller);
        sent = size > 0 ? give(caller, caller->plain->buffer, (size_t)size) : size;
        if (sent < 0)
            return 0;
        if (sent < size)
            return hold(caller, (size_t)sent, (size_t)size);
    }
    return UV_READABLE;
}

static int discard_serve(struct caller *caller, int ready)
{
    ssize_t size = BUFFER_BYTES;

    (void)ready;
    for (int i = 0; i < TURN_BUFFERS && size == BUFFER_BYTES; i++)
        if ((size = take(caller)) < 0)
            return 0;
    return UV_READABLE;
}

static char patterns[PATTERNS_BYTES];

static void draw_patterns(void)
{
    for (size_t i = 0; i < PATTERNS_BYTES; i++) {
        size_t line = i / LINE_BYTES, column = i % LINE_BYTES;

        if (column < LINE_CHARACTERS)
            patterns[i] = (char)(' ' + (line + column) % PRINTABLE);
        else
            patterns[i] = column == LINE_CHARACTERS ? '\r' : '\n';
    }
}

static int chargen_serve(struct caller *caller, int ready)
{
    if ((ready & UV_READABLE) && !discard_serve(caller, ready))
        return 0;
    for (int i = 0; i < TURN_BUFFERS && (ready & UV_WRITABLE); i++) {
        size_t left = PATTERNS_BYTES - caller->pattern_at;
        ssize_t sent = give(caller, patterns + caller->pattern_at, left);

        if (sent < 0)
            return 0;
        caller->pattern_at = (caller->pattern_at + (size_t)sent) % PATTERNS_BYTES;
        if ((size_t)sent < left)
            break;
    }
    return UV_READABLE | UV_WRITABLE;
}

static const struct service echo = {{"echo", "sends back what comes (RFC 862)"}, echo_serve},
                            discard = {{"discard", "throws away what comes (RFC 863)"}, discard_serve},
                            chargen = {{"chargen", "sends lines of characters without end, throws away what "
                                                   "comes (RFC 864)"},
                                       chargen_serve};

static const struct variant *const services[] = {&echo.variant, &discard.variant, &chargen.variant};

const struct axis plain_axis = {"plain service", services, sizeof services / sizeof *services};

/* ---- connections ---- */

static void on_closed(uv_handle_t *handle)
{
    struct caller *caller = (struct caller *)handle;

    close(caller->fd);
    free(caller->held);
    free(caller);
}

static void on_ready(uv_poll_t *poll, int status, int ready)
{
    struct caller *caller = (struct caller *)poll;
    int next = status < 0 ? 0 : caller->plain->service->serve(caller, ready);

    if (!next)
        uv_close((uv_handle_t *)poll, on_closed);
    else if (next != caller->waits_for)
        uv_poll_start(poll, caller->waits_for = next, on_ready);
}

static void on_accepted(void *owner, int fd)
{
    struct plain *plain = owner;
    struct caller *caller = calloc(1, sizeof *caller);
    struct problem dropped = {0}; /* no one reads it */

    if (!caller || transport_prepare(&plain->plan, END_SERVER, fd, &dropped) < 0 ||
        uv_poll_init(&plain->listener.loop, &caller->poll, fd) < 0) {
        free(caller);
        close(fd);
        return;
    }
    caller->plain = plain;
    caller->fd = fd;
    on_ready(&caller->poll, 0, UV_READABLE | UV_WRITABLE);
}

/* The listener has closed its own handles. The remaining ones are connections. */
static void close_caller(uv_handle_t *handle, void *argument)
{
    (void)argument;
    if (!uv_is_closing(handle))
        uv_close(handle, on_closed);
}

static void on_stopped(void *owner)
{
    struct plain *plain = owner;

    uv_walk(&plain->listener.loop, close_caller, NULL);
}

static const struct listener_events listener_events = {.accepted = on_accepted, .stopped = on_stopped};

void plain_run(const struct options *options, struct problem *problem)
{
    bool is_unix = options->address.storage.ss_family == AF_UNIX;
    const char *word = is_unix ? "transport=unix" : "transport=tcp";
    struct plain plain = {
        .listener = {.options = options, .events = &listener_events, .owner = &plain},
        .service = (const struct service *)options->plain, /* the variant is the first member */
    };
    int fd;

    draw_patterns();
    if (plan_parse(&plain.plan, &word, 1, problem) < 0)
        return;
    fd = transport_socket(&plain.plan, END_SERVER, &options->address, problem);
    if (fd >= 0)
        listener_serve(&plain.listener, fd, problem);
    plan_free(&plain.plan);
}
