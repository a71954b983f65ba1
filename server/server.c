/* SPDX-License-Identifier: MIT */
#include "client_session.h"
#include "support/support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLOSING_MAX 64 /* sessions that are closing, beside those that the limits allow */

struct server {
    struct listener listener;
    struct client_session *newest; /* first of a list */
    size_t count;
    struct client_session *running; /* other sessions wait until it has ended; NULL: none */
};

void server_rejected(struct server *server, const struct address *peer, const char *why)
{
    listener_rejected(&server->listener, peer, why);
}

void server_session_planned(struct server *server, struct client_session *client)
{
    uint64_t most = server->listener.options->limits[LIMIT_SESSIONS], count = 0;
    struct problem problem = {0};

    for (const struct client_session *other = server->newest; other; other = other->next)
        count += other->session.state > SESSION_ANSWERING && other->session.state < SESSION_CLOSING;
    if (count > most) {
        problem_failure(
            &problem, "this server has %" PRIu64 " sessions already, as many as --max-sessions allows", most);
        client_session_fail(client, &problem);
    } else if (server->running) {
        channel_send(&client->channel, CONTROL_WAIT, NULL);
    } else {
        server->running = client;
        client_session_begin(client);
    }
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

/* Sessions without a plan are of clients that are not known. */
static size_t reject_unknown(void *owner, const struct address *source, size_t victim, const char *why)
{
    struct server *server = owner;
    size_t count = 0;

    for (struct client_session *client = server->newest; client; client = client->next)
        if (client->session.state <= SESSION_ANSWERING && address_is_of_source(&client->peer, source) &&
            count++ == victim) {
            server_rejected(server, &client->peer, why);
            client_session_drop(client);
            break;
        }
    return count;
}

/* Sessions that are closing count too: each has memory. */
static void on_accepted(void *owner, int fd)
{
    struct server *server = owner;
    const struct options *options = server->listener.options;
    struct client_session *client = NULL;

    if (server->count < options->limits[LIMIT_STRANGERS] + options->limits[LIMIT_SESSIONS] + CLOSING_MAX)
        client = calloc(1, sizeof *client);
    if (!client) {
        struct address peer;
        server_rejected(server, listener_peer(&peer, fd),
                        "as many sessions are closing as --max-strangers and --max-sessions allow");
        close(fd);
        return;
    }
    client->options = options;
    client->server = server;
    client->rejected = &server->listener.strangers.rejected;
    client->next = server->newest;
    server->newest = client;
    server->count++;
    client_session_open(client, &server->listener.loop, fd);
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
    struct server server = {.listener = {.options = options,
                                         .accepted = on_accepted,
                                         .reject_unknown = reject_unknown,
                                         .stopped = on_stopped,
                                         .owner = &server}};
    probe_counters();
    listener_serve(&server.listener, NULL, problem);
}
