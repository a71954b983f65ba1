/* SPDX-License-Identifier: MIT */
/*
 * A subject: a server that knows nothing of uncork. This server starts it for one session, in a
 * temporary folder, and ends it with the session. In the phases of the run this server answers for it.
 */
#ifndef UNCORK_SERVER_SUBJECT_H
#define UNCORK_SERVER_SUBJECT_H

#include "lobby.h"
#include "process.h"

#include <limits.h>

struct subject {
    const struct plan *plan;
    struct channel *channel; /* to the client */
    struct child process;
    char folder[128];          /* empty: there is none */
    char program[PATH_MAX];    /* path of the file */
    char version[160];         /* the first line that it prints */
    json_t *arguments;         /* with which it was started */
    struct override *override; /* NULL: its calls stay as they are, uncounted */
    size_t announced;          /* connections of which the client has announced the last byte */
    bool measures;             /* after the warm-up */
    uint64_t cpu_before_ns;
};

/* Starts the subject of the plan (definition.h) on the socket of the lobby, which listens, or on its
 * address. It waits until a connection is accepted, for up to 5 s. Then it tells the client. 0, or -1
 * with a problem; subject_stop() it in both cases. `remote`: the client is on another machine. */
int subject_start(struct subject *subject, const json_t *definitions, const struct plan *plan,
                  struct lobby *lobby, struct channel *channel, bool remote, struct problem *problem);

/* CONTROL_DRAIN: the client announces the last bytes of its warm-up, then of the run. Reads the CPU
 * time, and sends the report at the end of the run: then 1, else 0, or -1 with a problem where the
 * override did not reach the program. */
int subject_drain(struct subject *subject, const json_t *body, struct problem *problem);

/* If it has ended by itself, or ends within 400 ms: 0 with a failure that has the end of its log. Else -1. */
int subject_fate(struct subject *subject, struct problem *problem);

/* Ends the process and removes the folder. May be called twice. */
void subject_stop(struct subject *subject);

#endif
