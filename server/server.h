/* SPDX-License-Identifier: MIT */
/* The daemon: takes clients at its door, and lets one session at a time be busy. */
#ifndef UNCORK_SERVER_SERVER_H
#define UNCORK_SERVER_SERVER_H

#include "control/psk.h"
#include "door.h"
#include "session.h"
#include "sinks.h"

#include <stdbool.h>
#include <uv.h>

/* Who came to the door and was not let in. */
struct turned_away {
    uint64_t count;    /* since the last report */
    uint64_t untold;   /* since the last line on standard error */
    uint64_t quiet_ms; /* until this time of the loop there is no other */
};

struct server {
    struct door door;
    uv_loop_t loop;
    struct session *sessions; /* newest first */
    size_t session_count;
    struct session *busy;        /* the one that runs; others wait */
    const struct sinks *sinks;   /* where a proxy may connect to; NULL: it is a server */
    const struct psk_list *keys; /* of which a client must show one; NULL: it need not */
    struct turned_away turned_away;
};

/* What the daemon is told when it is started. */
struct server_setup {
    struct address address;
    const struct sinks *sinks;   /* as above */
    const struct psk_list *keys; /* as above */
    bool with_parent;            /* the end of standard input ends it as well */
    uint64_t idle_ms;            /* it ends when there has been no session for so long; 0: never */
};

/* Listens, prints the ready line and serves until SIGTERM, SIGINT, or what the setup says. 0, or -1 with a
 * failure. */
int server_run(const struct server_setup *setup, struct problem *problem);

/* ---- for sessions ---- */

/* A session wants to be busy: true at once, or false and session_begin() when its turn comes. */
bool server_claim(struct server *server, struct session *session);

/* A client was not let in, for that reason: counted, and said on standard error, but not more often than once
 * a second. */
void server_turn_away(struct server *server, const struct address *peer, const char *why);

/* How many were, since this was asked the last time. */
uint64_t server_take_turned_away(struct server *server);

/* A session is over, busy or not. */
void server_forget(struct server *server, struct session *session);

#endif
