/* SPDX-License-Identifier: MIT */
/* The session of one client at a server or a proxy, from its control connection to the report. It
 * goes through the states of team/session.def. */
#pragma once

#include "options.h"
#include "subject.h"
#include "team/coordinator.h"

struct client_session {
    /* Set by the owner. */
    const struct options *options;
    struct server *server;
    uint64_t *rejected; /* clients that were rejected since the last report */

    struct client_session *next; /* older; of the owner */
    struct session session;
    struct channel channel;
    struct address peer; /* address of the client */
    enum end end;        /* the role in the run: server or proxy */
    struct plan plan;
    uv_work_t check;
    struct problem problem; /* of the check */
    struct data_listener data;
    struct team team;
    struct coordinator coordinator;
    struct subject subject;
    bool remote; /* the other ends are on other machines */
    bool is_closing;
    int open_parts; /* timer, channel, check, data listener, team, subject */
};

/* Opens the session on an accepted control connection. */
void client_session_open(struct client_session *client, uv_loop_t *loop, int fd);

/* Begins with the plan of the client. No other session may run until this one is closed: the check
 * of the machine uses two CPUs for up to 3 s. */
void client_session_begin(struct client_session *client);

/* Sends the reason to the client and closes. */
void client_session_end(struct client_session *client, const char *why);

/* ---- defined in server.c ---- */

/* The session has a plan: the server begins it in its turn. */
void server_session_planned(struct server *server, struct client_session *client);

/* A client closed or timed out before it was known. */
void server_session_rejected(struct server *server, const struct client_session *client, const char *why);

/* All parts of the session are closed: the server frees it. */
void server_session_closed(struct server *server, struct client_session *client);
