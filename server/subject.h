/* SPDX-License-Identifier: MIT */
/*
 * A subject: another server program, which knows nothing of uncork. This server starts it for one
 * session, in a temporary folder, and ends it with the session. In the phases of the run, this
 * server sends the messages in place of the subject.
 */
#pragma once

#include "base/folder.h"
#include "data_listener.h"
#include "override/override.h"
#include "process.h"

#include <limits.h>

struct subject {
    /* Set by the owner. */
    const struct plan *plan;
    struct channel *channel;    /* to the client */
    struct data_listener *data; /* address and socket of the subject */

    struct child process;
    char folder[FOLDER_MAX];  /* empty: there is none */
    char program[PATH_MAX];   /* path of the file */
    char version[160];        /* the first line of its --version or similar */
    char package[160];        /* of the distribution, with version; empty: of none */
    json_t *arguments;        /* of its start */
    struct override override; /* without shared memory: its calls are neither changed nor counted */
    bool measures;            /* the warm-up is over */
    uint64_t cpu_before_ns;
};

/* Starts the subject of the plan (words/definition.h) on the socket of the data listener, or on its
 * address. On an address, waits for up to 5 s until it accepts a connection. `sink`: address to
 * which a relay connects; NULL: no relay. `remote`: the other ends are on other machines. 0, or -1
 * with a problem; call subject_stop() in both cases. */
int subject_start(struct subject *subject, const json_t *definitions, const struct address *sink, bool remote,
                  struct problem *problem);

/* Call on CONTROL_MARKED, which comes before and after the run, while no data is in flight. Reads
 * the CPU time. Before the run returns 0. After the run sends the report and returns 1. -1 with a
 * problem if the override did not reach the program. */
int subject_mark(struct subject *subject, struct problem *problem);

/* If the subject has ended by itself, or ends within 400 ms: 0 with a failure that quotes the end
 * of its log. Else -1. */
int subject_explain_exit(struct subject *subject, struct problem *problem);

/* Ends the process and removes the folder. May be called twice. */
void subject_stop(struct subject *subject);
