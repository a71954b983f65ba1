/* SPDX-License-Identifier: MIT */
#include "server.h"

#include <inttypes.h>
#include <stdio.h>

#define QUIET_MS 1000 /* between two lines about rejected clients */

static void on_arrived(void *owner, int fd)
{
    struct server *server = owner;

    session_create(server, fd);
    if (server->session_count)
        door_occupy(&server->door);
}

static void on_shut(void *owner)
{
    struct server *server = owner;
    struct session *next;

    for (struct session *session = server->sessions; session; session = next) {
        next = session_next(session);
        session_end(session, server->sinks ? "the proxy was told to end" : "the server was told to end");
    }
}

static const struct door_events door_events = {.arrived = on_arrived, .shut = on_shut};

bool server_claim(struct server *server, struct session *session)
{
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

void server_forget(struct server *server, struct session *session)
{
    session_unlink(&server->sessions, session);
    if (--server->session_count == 0)
        door_vacate(&server->door);
    if (server->busy != session)
        return;
    server->busy = find_waiting(server);
    if (server->busy)
        session_begin(server->busy);
}

/* A client of a Unix socket has no address: prints the server's. */
void server_turn_away(struct server *server, const struct address *peer, const char *why)
{
    struct turned_away *turned_away = &server->turned_away;
    uint64_t now_ms = uv_now(&server->loop);
    char text[ADDRESS_MAX], others[64] = "";

    turned_away->count++;
    turned_away->untold++;
    if (now_ms < turned_away->quiet_ms)
        return;
    address_format(text, peer->storage.ss_family == AF_UNIX ? &server->door.address : peer);
    if (turned_away->untold > 1)
        snprintf(others, sizeof others, "; it is one of %" PRIu64 " since the last such line",
                 turned_away->untold);
    fprintf(stderr, "uncork-server: turned away a client at %s (%s)%s\n", text, why, others);
    turned_away->untold = 0;
    turned_away->quiet_ms = now_ms + QUIET_MS;
}

uint64_t server_take_turned_away(struct server *server)
{
    uint64_t count = server->turned_away.count;

    server->turned_away.count = 0;
    return count;
}

int server_run(const struct server_setup *setup, struct problem *problem)
{
    struct server server = {.sinks = setup->sinks,
                            .keys = setup->keys,
                            .door = {.loop = &server.loop,
                                     .address = setup->address,
                                     .with_parent = setup->with_parent,
                                     .idle_ms = setup->idle_ms,
                                     .is_proxy = setup->sinks != NULL,
                                     .events = &door_events,
                                     .owner = &server}};

    return door_serve(&server.door, -1, problem);
}
