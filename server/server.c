/* SPDX-License-Identifier: MIT */
#include "server.h"

static void on_arrived(void *owner, int fd)
{
    session_create(owner, fd);
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
    server->session_count--;
    if (server->busy != session)
        return;
    server->busy = find_waiting(server);
    if (server->busy)
        session_begin(server->busy);
}

int server_run(const struct address *address, const struct sinks *sinks, bool with_parent,
               struct problem *problem)
{
    struct server server = {.sinks = sinks,
                            .door = {.loop = &server.loop,
                                     .address = *address,
                                     .with_parent = with_parent,
                                     .is_proxy = sinks != NULL,
                                     .events = &door_events,
                                     .owner = &server}};

    return door_serve(&server.door, -1, problem);
}
