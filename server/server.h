/* SPDX-License-Identifier: MIT */
/* The daemon: accepts clients; one session at a time runs. */
#ifndef UNCORK_SERVER_SERVER_H
#define UNCORK_SERVER_SERVER_H

#include "control/psk.h"
#include "door.h"
#include "session.h"
#include "sinks.h"

#include <stdbool.h>
#include <uv.h>

/* Clients that the server rejected. */
struct turned_away {
    uint64_t count;    /* since the last report of a session */
    uint64_t untold;   /* since the last line on standard error */
    uint64_t quiet_ms; /* loop time before which it prints no other line */
};

struct server {
    struct door door;
    uv_loop_t loop;
    struct session *sessions; /* newest first */
    size_t session_count;
    struct session *busy;        /* the running one; others wait */
    const struct sinks *sinks;   /* targets that a proxy may connect to; NULL: a server */
    const struct psk_list *keys; /* a client must have one of these; NULL: no TLS */
    struct turned_away turned_away;
};

/* The options of the daemon. */
struct server_setup {
    struct address address;
    const struct sinks *sinks;   /* as above */
    const struct psk_list *keys; /* as above */
    bool with_parent;            /* the end of standard input ends it too */
    uint64_t idle_ms;            /* ends after this time without a session; 0: never */
};

/* Listens, prints the ready line and serves until SIGTERM, SIGINT, or a condition of the setup.
 * Returns 0, or -1 with a failure. */
int server_run(const struct server_setup *setup, struct problem *problem);

/* ---- for sessions ---- */

/* True if the session may run now. False: it waits for session_begin(). */
bool server_claim(struct server *server, struct session *session);

/* Counts a rejected client. Prints the reason on standard error, at most once a second. */
void server_turn_away(struct server *server, const struct address *peer, const char *why);

/* Returns the number of rejected clients since the last call. */
uint64_t server_take_turned_away(struct server *server);

/* Removes a session at its end, running or not. */
void server_forget(struct server *server, struct session *session);

#endif
