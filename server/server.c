/* SPDX-License-Identifier: MIT */
#include "base/threads.h"
#include "client_session.h"
#include "support/support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>
#include <unistd.h>

#define CLOSING_MAX 64 /* sessions that are closing, beside those that the limits allow */

struct server {
    struct listener listener;
    struct client_session *newest; /* first of a list */
    size_t count;
    struct client_session *running; /* other sessions wait until it has ended; NULL: none */
};

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
    uv_os_fd_t fd;

    for (struct client_session *client = server->newest; client; client = client->next)
        if (client->session.state <= SESSION_ANSWERING && address_is_of_source(&client->peer, source) &&
            count++ == victim) {
            listener_rejected(&server->listener, &client->peer, why);
            if (uv_fileno(&client->channel.handle, &fd) == 0 && !client->channel.has_received)
                listener_refuse(&server->listener, fd);
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
        listener_rejected(&server->listener, listener_peer(&peer, fd),
                          "as many sessions are closing as --max-strangers and --max-sessions allow");
        listener_refuse(&server->listener, fd);
        close(fd);
        return;
    }
    client->options = options;
    client->server = server;
    client->listener = &server->listener;
    client->is_logged = server->listener.is_ready && !options->with_parent;
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

/* A run needs descriptors for its connections, and clients that do not run have the others. If
 * there are few, the limits of those are less. 0, or -1 with a failure if none is left for them. */
static int fit_limits(struct options *options, struct problem *problem)
{
    uint64_t *strangers = &options->limits[LIMIT_STRANGERS], *sessions = &options->limits[LIMIT_SESSIONS];
    uint64_t wanted = *strangers + *sessions,
             found = options->with_parent ? wanted : descriptors_reserve(wanted);

    if (found < 2)
        return problem_failure(
            problem, "no run could be served: it needs %u open files, and fewer are allowed (ulimit -n)",
            DESCRIPTORS_OF_ONE + 2);
    if (found < wanted) {
        *sessions = MIN(*sessions, found / 2);
        *strangers = found - *sessions;
        listener_log("so few files may be open (ulimit -n) that --max-sessions is %" PRIu64
                     " and --max-strangers %" PRIu64,
                     *sessions, *strangers);
    }
    return 0;
}

void server_run(struct options *options, struct problem *problem)
{
    struct server server = {.listener = {.options = options,
                                         .accepted = on_accepted,
                                         .reject_unknown = reject_unknown,
                                         .stopped = on_stopped,
                                         .check = trial_run,
                                         .owner = &server}};
    probe_counters();
    if (threads_try_pool(problem) == 0 && fit_limits(options, problem) == 0)
        listener_serve(&server.listener, NULL, problem);
}
