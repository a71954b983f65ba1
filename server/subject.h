/* SPDX-License-Identifier: MIT */
/*
 * A subject: a server that knows nothing of uncork. This server starts it for one session, in a
 * temporary folder, and ends it with the session. In the phases of the run this server answers for
 * it.
 */
#pragma once

#include "base/folder.h"
#include "data_listener.h"
#include "process.h"

#include <limits.h>

struct subject {
    /* Set by the owner. */
    const struct plan *plan;
    struct channel *channel;    /* to the client */
    struct data_listener *data; /* where it listens */

    struct child process;
    char folder[FOLDER_MAX];   /* empty: there is none */
    char program[PATH_MAX];    /* path of the file */
    char version[160];         /* the first line that it prints */
    char package[160];         /* that has it; empty: none has it */
    json_t *arguments;         /* with which it was started */
    struct override *override; /* NULL: its calls stay as they are, uncounted */
    bool measures;             /* after the warm-up */
    uint64_t cpu_before_ns;
};

/* Starts the subject of the plan (words/definition.h) on the socket of the data listener, or on its
 * address. It waits until a connection is accepted, for up to 5 s. `sink`: where a relay connects
 * to; NULL: it is none. `remote`: the other ends are on other machines. 0, or -1 with a problem;
 * subject_stop() it in both cases. */
int subject_start(struct subject *subject, const json_t *definitions, const struct address *sink, bool remote,
                  struct problem *problem);

/* CONTROL_MARKED: no data is in flight, before the run and after it. Reads the CPU time, and sends
 * the report after the run: then 1, else 0, or -1 with a problem where the override did not reach
 * the program. */
int subject_mark(struct subject *subject, struct problem *problem);

/* If it has ended by itself, or ends within 400 ms: 0 with a failure that has the end of its log.
 * Else -1. */
int subject_explain_exit(struct subject *subject, struct problem *problem);

/* Ends the process and removes the folder. May be called twice. */
void subject_stop(struct subject *subject);
