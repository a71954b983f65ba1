/* SPDX-License-Identifier: MIT */
/* The daemon: takes clients at its door, and lets one session at a time be busy. */
#ifndef UNCORK_SERVER_SERVER_H
#define UNCORK_SERVER_SERVER_H

#include "door.h"
#include "session.h"
#include "sinks.h"

#include <stdbool.h>
#include <uv.h>

struct server {
    struct door door;
    uv_loop_t loop;
    struct session *sessions; /* newest first */
    size_t session_count;
    struct session *busy;      /* the one that runs; others wait */
    const struct sinks *sinks; /* where a proxy may connect to; NULL: it is a server */
};

/* Listens on `address`, prints the ready line and serves until SIGTERM, SIGINT, or the end of standard input
 * where `with_parent`; as a proxy where it has `sinks`. 0, or -1 with a failure. */
int server_run(const struct address *address, const struct sinks *sinks, bool with_parent,
               struct problem *problem);

/* ---- for sessions ---- */

/* A session wants to be busy: true at once, or false and session_begin() when its turn comes. */
bool server_claim(struct server *server, struct session *session);

/* A session is over, busy or not. */
void server_forget(struct server *server, struct session *session);

#endif
