/* SPDX-License-Identifier: MIT */
/* One client's run, from its control connection to the report. */
#ifndef UNCORK_SERVER_SESSION_H
#define UNCORK_SERVER_SESSION_H

#include "control/psk.h"
#include "sinks.h"

#include <stdbool.h>
#include <uv.h>

#define LIMIT_CONTROL_CONNECTIONS 64 /* sessions of a server, the running one included */

struct session;

struct session_events {
    /* The session has a plan. Returns true if it may run now. False: it waits for
     * session_begin(). */
    bool (*planned)(void *owner, struct session *session);

    /* The client at `peer` ended or timed out before it was known. */
    void (*rejected)(void *owner, const struct address *peer, const char *why);

    /* Returns the number of rejected clients since the last call, for a report. */
    uint64_t (*take_rejected)(void *owner);

    /* The session ended, running or not, and frees its memory next. */
    void (*ended)(void *owner, struct session *session);
};

/* What the sessions of a server share. */
struct session_setup {
    uv_loop_t *loop;
    const struct sinks *sinks;   /* targets that a proxy may connect to; NULL: a server */
    const struct psk_list *keys; /* a client must have one of these; NULL: no TLS */
    const struct session_events *events;
    void *owner;
};

/* Starts a session on the control connection `fd`, which it owns. `is_one_too_many`: it refuses
 * the client. The session frees itself at its end. NULL when memory is exhausted. */
struct session *session_create(const struct session_setup *setup, int fd, bool is_one_too_many);

/* True if the session has a plan and waits for session_begin(). */
bool session_waits(const struct session *session);
void session_begin(struct session *session);

/* Ends the session soon and sends the client the reason. */
void session_end(struct session *session, const char *why);

/* A list of sessions: returns the next one; adds one at the head; removes one. */
struct session *session_next(const struct session *session);
void session_link(struct session **list, struct session *session);
void session_unlink(struct session **list, struct session *session);

#endif
