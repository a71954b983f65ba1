/* SPDX-License-Identifier: MIT */
#include "client_session.h"
#include "support/support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE_EVERY_MS 1000           /* between two lines about rejected clients */
#define LIMIT_CONTROL_CONNECTIONS 64 /* sessions, including the running one */

struct server {
    struct listener listener;
    struct client_session *newest; /* first of a list */
    size_t count;
    struct client_session *running; /* other sessions wait until it has ended; NULL: none */
    struct {
        uint64_t count;        /* since the last report of a session */
        uint64_t unlogged;     /* since the last line on standard error */
        uint64_t next_line_ms; /* loop time before which no other line is printed */
    } rejected;
};

/* Prints the reason, at most once a second. A client of a Unix socket has no address: prints the
 * address of the server. */
void server_session_rejected(struct server *server, const struct client_session *client, const char *why)
{
    uint64_t now_ms = uv_now(&server->listener.loop);
    bool has_address = client->peer.storage.ss_family != AF_UNIX;
    char others[64] = "";

    server->rejected.count++;
    server->rejected.unlogged++;
    if (now_ms < server->rejected.next_line_ms)
        return;
    if (server->rejected.unlogged > 1)
        snprintf(others, sizeof others, "; one of %" PRIu64 " since the last such line",
                 server->rejected.unlogged);
    fprintf(stderr, "uncork-server: rejected a client at %s (%s)%s\n",
            address_text(has_address ? &client->peer : &server->listener.address), why, others);
    server->rejected.unlogged = 0;
    server->rejected.next_line_ms = now_ms + LINE_EVERY_MS;
}

void server_session_planned(struct server *server, struct client_session *client)
{
    if (server->running) {
        channel_send(&client->channel, CONTROL_WAIT, NULL);
        return;
    }
    server->running = client;
    client_session_begin(client);
}

/* If the session was running, starts the oldest one that waits. */
void server_session_closed(struct server *server, struct client_session *client)
{
    struct client_session **at = &server->newest, *waiting = NULL;
    bool was_running = server->running == client;

    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    free(client);
    listener_set_occupied(&server->listener, --server->count > 0);
    if (!was_running)
        return;
    for (struct client_session *other = server->newest; other; other = other->next)
        if (other->session.state == SESSION_QUEUED)
            waiting = other;
    server->running = waiting;
    if (waiting)
        client_session_begin(waiting);
}

static void on_accepted(void *owner, int fd)
{
    struct server *server = owner;
    struct client_session *client = calloc(1, sizeof *client);
    struct problem problem = {0};

    if (!client) {
        close(fd);
        return;
    }
    client->options = server->listener.options;
    client->server = server;
    client->rejected = &server->rejected.count;
    client->next = server->newest;
    server->newest = client;
    client_session_open(client, &server->listener.loop, fd);
    if (server->count++ >= LIMIT_CONTROL_CONNECTIONS) {
        problem_failure(&problem, "%d clients are connected to this server already, the maximum",
                        LIMIT_CONTROL_CONNECTIONS);
        client_session_fail(client, &problem);
    }
    listener_set_occupied(&server->listener, true);
}

static void on_stopped(void *owner)
{
    struct server *server = owner;
    struct problem problem = {0};
    problem_failure(&problem, "the %s was stopped", server->listener.options->proxy ? "proxy" : "server");
    for (struct client_session *client = server->newest; client; client = client->next)
        client_session_fail(client, &problem);
}

void server_run(const struct options *options, struct problem *problem)
{
    struct server server = {
        .listener = {.options = options, .accepted = on_accepted, .stopped = on_stopped, .owner = &server}};
    probe_counters();
    listener_serve(&server.listener, NULL, problem);
}
