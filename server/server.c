/* SPDX-License-Identifier: MIT */
#include "server.h"

#include "door.h"
#include "session.h"

#include <inttypes.h>
#include <stdio.h>

#define QUIET_MS 1000 /* between two lines about rejected clients */

struct server {
    struct door door;
    struct sessions sessions;
    struct {
        uint64_t count;    /* since the last report of a session */
        uint64_t unlogged; /* since the last line on standard error */
        uint64_t quiet_ms; /* loop time before which no other line is printed */
    } rejected;            /* clients */
};

static void on_arrived(void *owner, int fd)
{
    struct server *server = owner;

    sessions_add(&server->sessions, fd);
    if (server->sessions.count > 0)
        door_occupy(&server->door);
}

static void on_shut(void *owner)
{
    struct server *server = owner;

    sessions_end(&server->sessions,
                 server->sessions.sinks ? "the proxy was told to end" : "the server was told to end");
}

static const struct door_events door_events = {.arrived = on_arrived, .shut = on_shut};

static void on_ended(void *owner)
{
    struct server *server = owner;

    if (server->sessions.count == 0)
        door_vacate(&server->door);
}

/* Prints the reason, at most once a second. A client of a Unix socket has no address: prints the
 * server's. */
static void on_rejected(void *owner, const struct address *peer, const char *why)
{
    struct server *server = owner;
    uint64_t now_ms = uv_now(&server->door.loop);
    char text[ADDRESS_MAX], others[64] = "";

    server->rejected.count++;
    server->rejected.unlogged++;
    if (now_ms < server->rejected.quiet_ms)
        return;
    address_format(text, peer->storage.ss_family == AF_UNIX ? &server->door.address : peer);
    if (server->rejected.unlogged > 1)
        snprintf(others, sizeof others, "; it is one of %" PRIu64 " since the last such line",
                 server->rejected.unlogged);
    fprintf(stderr, "uncork-server: turned away a client at %s (%s)%s\n", text, why, others);
    server->rejected.unlogged = 0;
    server->rejected.quiet_ms = now_ms + QUIET_MS;
}

static uint64_t take_rejected(void *owner)
{
    struct server *server = owner;
    uint64_t count = server->rejected.count;

    server->rejected.count = 0;
    return count;
}

static const struct sessions_events sessions_events = {
    .rejected = on_rejected, .take_rejected = take_rejected, .ended = on_ended};

int server_run(const struct server_setup *setup, struct problem *problem)
{
    struct server server = {.sessions = {.loop = &server.door.loop,
                                         .sinks = setup->sinks,
                                         .keys = setup->keys,
                                         .events = &sessions_events,
                                         .owner = &server},
                            .door = {.address = setup->address,
                                     .with_parent = setup->with_parent,
                                     .idle_ms = setup->idle_ms,
                                     .is_proxy = setup->sinks != NULL,
                                     .events = &door_events,
                                     .owner = &server}};

    return door_serve(&server.door, -1, problem);
}
