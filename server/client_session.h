/* SPDX-License-Identifier: MIT */
/* The session of one client at a server or a proxy, from its control connection to the report. It
 * goes through the states of team/session.def. */
#pragma once

#include "data_listener.h"
#include "options.h"
#include "subject.h"
#include "team/coordinator.h"
#include "team/session.h"

struct client_session;

struct client_session_events {
    void (*planned)(struct client_session *client);                   /* the owner begins it in its turn */
    void (*rejected)(struct client_session *client, const char *why); /* before it was known */
    void (*closed)(struct client_session *client);                    /* the owner frees it */
};

struct client_session {
    /* Set by the owner. */
    const struct options *options;
    const struct client_session_events *events;
    void *owner;
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
    size_t joined; /* connections */
    bool remote;   /* the other ends are on other machines */
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

/* Closes all parts, then calls `closed`. May be called twice. */
void client_session_close(struct client_session *client);
