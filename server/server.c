/* SPDX-License-Identifier: MIT */
#include "server.h"

#include "base/cleanup.h"
#include "base/version.h"
#include "limits.h"
#include "transport/sockets.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void stop(struct server *server)
{
    struct session *next;

    if (server->stopping)
        return;
    server->stopping = true;
    uv_close((uv_handle_t *)&server->listener, NULL);
    uv_close((uv_handle_t *)&server->terminate, NULL);
    uv_close((uv_handle_t *)&server->interrupt, NULL);
    lifeline_release(&server->parent);
    close(server->fd);
    address_unlink(&server->address, false);
    for (struct session *session = server->sessions; session; session = next) {
        next = session_next(session);
        session_end(session, "the server was told to end");
    }
}

static void on_signal(uv_signal_t *signal, int number)
{
    (void)number;
    stop(signal->data);
}

static void on_parent_gone(void *owner)
{
    stop(owner);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct server *server = poll->data;
    int fd;

    (void)status, (void)events;
    while ((fd = sockets_accept(server->fd)) >= 0) {
        session_create(server, fd);
    }
}

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

static int print_ready(const struct server *server, struct problem *problem)
{
    CLEANUP_JSON json_t *ready = json_pack("{s:{s:s}}", "ready", "version", UNCORK_VERSION);
    json_t *inner = json_object_get(ready, "ready");
    char text[ADDRESS_MAX];

    address_format(text, &server->address);
    if (server->address.storage.ss_family != AF_UNIX) {
        *strrchr(text, ':') = '\0';
        json_object_set_new(inner, "port", json_integer(address_port(&server->address)));
    }
    json_object_set_new(inner, "address", json_string(text));
    if (json_dumpf(ready, stdout, JSON_SORT_KEYS) < 0 || putchar('\n') == EOF || fflush(stdout) != 0)
        return problem_failure(problem, "cannot print the ready line");
    return 0;
}

static void start_handles(struct server *server, bool with_parent)
{
    uv_poll_init(&server->loop, &server->listener, server->fd);
    uv_signal_init(&server->loop, &server->terminate);
    uv_signal_init(&server->loop, &server->interrupt);
    server->listener.data = server->terminate.data = server->interrupt.data = server;
    uv_poll_start(&server->listener, UV_READABLE, on_connection);
    uv_signal_start(&server->terminate, on_signal, SIGTERM);
    uv_signal_start(&server->interrupt, on_signal, SIGINT);
    if (with_parent)
        lifeline_hold(&server->parent, &server->loop, on_parent_gone, server);
}

int server_run(const struct address *address, bool with_parent, struct problem *problem)
{
    struct server server = {.address = *address};

    uv_loop_init(&server.loop);
    server.fd = address_listen(-1, &server.address, problem);
    if (server.fd < 0) {
        uv_loop_close(&server.loop);
        return -1;
    }
    start_handles(&server, with_parent);
    if (print_ready(&server, problem) < 0)
        stop(&server);
    uv_run(&server.loop, UV_RUN_DEFAULT);
    uv_loop_close(&server.loop);
    return problem->kind == PROBLEM_NONE ? 0 : -1;
}
