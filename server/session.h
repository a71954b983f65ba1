/* SPDX-License-Identifier: MIT */
/* Sessions: a session is one client's run, from its control connection to the report. */
#ifndef UNCORK_SERVER_SESSION_H
#define UNCORK_SERVER_SESSION_H

#include "control/psk.h"
#include "sinks.h"

#include <stddef.h>
#include <uv.h>

struct sessions_events {
    /* The client at `peer` ended or timed out before it was known. */
    void (*rejected)(void *owner, const struct address *peer, const char *why);

    /* Returns the number of rejected clients since the last call, for a report. */
    uint64_t (*take_rejected)(void *owner);

    void (*ended)(void *owner); /* a session, running or not */
};

/* The sessions of a server: one runs, the others wait until it has ended. */
struct sessions {
    /* Set by the owner. */
    uv_loop_t *loop;
    const struct sinks *sinks;   /* targets that a proxy may connect to; NULL: a server */
    const struct psk_list *keys; /* a client must have one of these; NULL: no TLS */
    const struct sessions_events *events;
    void *owner;

    struct session *newest; /* first of a list */
    size_t count;
    struct session *running; /* NULL: none */
};

/* Starts a session on the control connection `fd`, which it owns. The session frees itself at its
 * end. Closes `fd` when memory is exhausted. */
void sessions_add(struct sessions *sessions, int fd);

/* Ends all sessions soon and sends the clients the reason. */
void sessions_end(struct sessions *sessions, const char *why);

#endif
