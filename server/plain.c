/* SPDX-License-Identifier: MIT */
/*
 * One loop for all connections. A client that does not read what echo sends back is not read from, so that at
 * most one buffer of it is held. What the loop waits for changes only then: while bytes flow there is no call
 * but recv, send and one wait for all connections that are ready.
 */
#include "plain.h"

#include "door.h"
#include "plan/plan.h"
#include "transport/transport.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)64 * 1024)
#define TURN_BUFFERS 16 /* full buffers moved for one connection before the next has its turn */

/* RFC 864: lines of 72 of the 95 printable characters, each begins one later; after 95 lines it repeats. */
#define PRINTABLE 95
#define LINE_CHARACTERS 72
#define LINE_BYTES (LINE_CHARACTERS + 2)
#define PATTERN_BYTES ((size_t)PRINTABLE * LINE_BYTES)
#define PATTERNS_BYTES (BUFFER_BYTES / PATTERN_BYTES * PATTERN_BYTES) /* as many as a buffer holds */

struct plain {
    uv_loop_t loop;
    struct door door;
    const struct service *service;
    struct plan plan;          /* of the sockets: what a run without words has */
    char buffer[BUFFER_BYTES]; /* of the connection that is being served */
};

/* A foreign client's connection. */
struct caller {
    uv_poll_t poll; /* first: closed as a handle */
    struct plain *plain;
    int fd;
    int waits_for; /* UV_READABLE, UV_WRITABLE */
    char *held;    /* echo: what could not be sent, in memory of one buffer; NULL until that happened */
    size_t held_from, held_to;
    size_t pattern_at; /* chargen: how much of the patterns has been sent */
};

struct service {
    struct variant variant;
    int (*serve)(struct caller *caller, int ready); /* what to wait for, 0 when the connection is over */
};

/* ---- calls ---- */

/* What a call on a socket moved: 0 when it would block, -1 when the connection is over for it. */
static ssize_t moved(ssize_t result)
{
    return result >= 0 ? result : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

/* Fills the shared buffer; the end of what the client sends is -1 as well. */
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

/* Keeps the rest of the shared buffer for later. */
static int hold(struct caller *caller, size_t from, size_t to)
{
    if (!caller->held && !(caller->held = malloc(BUFFER_BYTES)))
        return 0;
    memcpy(caller->held, caller->plain->buffer + from, to - from);
    caller->held_from = 0;
    caller->held_to = to - from;
    return UV_WRITABLE;
}

/* Reads only when nothing is held: the end of what comes is seen when all has been sent back. */
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

#define SERVICE(name, does) static const struct service service_##name = {{#name, does}, name##_serve};
#include "plan/services.def"
#undef SERVICE

#define SERVICE(name, does) &service_##name.variant,
static const struct variant *const services[] = {
#include "plan/services.def"
};

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

static void on_arrived(void *owner, int fd)
{
    struct plain *plain = owner;
    struct caller *caller = calloc(1, sizeof *caller);
    struct problem dropped = {0}; /* there is nobody to tell */

    if (!caller || transport_prepare(plain->plan.transport, &plain->plan, END_SERVER, fd, &dropped) < 0 ||
        uv_poll_init(&plain->loop, &caller->poll, fd) < 0) {
        free(caller);
        close(fd);
        return;
    }
    caller->plain = plain;
    caller->fd = fd;
    on_ready(&caller->poll, 0, UV_READABLE | UV_WRITABLE);
}

/* The door has closed its own handles: the others are connections. */
static void close_caller(uv_handle_t *handle, void *argument)
{
    (void)argument;
    if (!uv_is_closing(handle))
        uv_close(handle, on_closed);
}

static void on_shut(void *owner)
{
    struct plain *plain = owner;

    uv_walk(&plain->loop, close_caller, NULL);
}

static const struct door_events door_events = {.arrived = on_arrived, .shut = on_shut};

int plain_run(const struct variant *service, const struct address *address, bool with_parent,
              struct problem *problem)
{
    const char *word = address->storage.ss_family == AF_UNIX ? "transport=unix" : "transport=tcp";
    struct plain plain = {
        .door = {.loop = &plain.loop,
                 .address = *address,
                 .with_parent = with_parent,
                 .plain = service->name,
                 .events = &door_events,
                 .owner = &plain},
        .service = (const struct service *)service, /* the variant is its first member */
    };
    int fd, result = -1;

    draw_patterns();
    if (plan_parse(&plain.plan, &word, 1, problem) < 0)
        return -1;
    fd = transport_socket(plain.plan.transport, &plain.plan, END_SERVER, address, problem);
    if (fd >= 0)
        result = door_serve(&plain.door, fd, problem);
    plan_free(&plain.plan);
    return result;
}
