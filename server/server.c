/* SPDX-License-Identifier: MIT */
#include "server.h"

#include "door.h"
#include "session.h"

#include <inttypes.h>
#include <stdio.h>

#define QUIET_MS 1000 /* between two lines about rejected clients */

struct server {
    struct door door;
    uv_loop_t loop;
    struct session_setup setup;
    struct session *sessions; /* newest first */
    size_t session_count;
    struct session *busy; /* the running one; others wait */
    struct {
        uint64_t count;    /* since the last report of a session */
        uint64_t unlogged; /* since the last line on standard error */
        uint64_t quiet_ms; /* loop time before which no other line is printed */
    } rejected;            /* clients */
};

static void on_arrived(void *owner, int fd)
{
    struct server *server = owner;
    bool is_one_too_many = server->session_count >= LIMIT_CONTROL_CONNECTIONS;
    struct session *session = session_create(&server->setup, fd, is_one_too_many);

    if (!session)
        return;
    session_link(&server->sessions, session);
    server->session_count++;
    door_occupy(&server->door);
}

static void on_shut(void *owner)
{
    struct server *server = owner;
    struct session *next;

    for (struct session *session = server->sessions; session; session = next) {
        next = session_next(session);
        session_end(session,
                    server->setup.sinks ? "the proxy was told to end" : "the server was told to end");
    }
}

static const struct door_events door_events = {.arrived = on_arrived, .shut = on_shut};

static bool on_planned(void *owner, struct session *session)
{
    struct server *server = owner;

    if (server->busy)
        return false;
    server->busy = session;
    return true;
}

static struct session *find_waiting(const struct server *server)
{
    struct session *oldest = NULL;

    for (struct session *session = server->sessions; session; session = session_next(session))
        if (session_waits(session))
            oldest = session;
    return oldest;
}

static void on_ended(void *owner, struct session *session)
{
    struct server *server = owner;

    session_unlink(&server->sessions, session);
    if (--server->session_count == 0)
        door_vacate(&server->door);
    if (server->busy != session)
        return;
    server->busy = find_waiting(server);
    if (server->busy)
        session_begin(server->busy);
}

/* Prints the reason, at most once a second. A client of a Unix socket has no address: prints the
 * server's. */
static void on_rejected(void *owner, const struct address *peer, const char *why)
{
    struct server *server = owner;
    uint64_t now_ms = uv_now(&server->loop);
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

static const struct session_events session_events = {
    .planned = on_planned, .rejected = on_rejected, .take_rejected = take_rejected, .ended = on_ended};

int server_run(const struct server_setup *setup, struct problem *problem)
{
    struct server server = {.setup = {.loop = &server.loop,
                                      .sinks = setup->sinks,
                                      .keys = setup->keys,
                                      .events = &session_events,
                                      .owner = &server},
                            .door = {.loop = &server.loop,
                                     .address = setup->address,
                                     .with_parent = setup->with_parent,
                                     .idle_ms = setup->idle_ms,
                                     .is_proxy = setup->sinks != NULL,
                                     .events = &door_events,
                                     .owner = &server}};

    return door_serve(&server.door, -1, problem);
}
