/* SPDX-License-Identifier: MIT */
/*
 * A subject: another server program, which knows nothing of uncork. This server starts it for one
 * session, in a temporary folder, and ends it with the session. In the phases of the run, this
 * server sends the messages in place of the subject.
 *
 * Nothing here waits: a thread of libuv finds the program and writes its files, children print its
 * version and its package, and the loop connects until the subject accepts.
 */
#pragma once

#include "base/folder.h"
#include "data_listener.h"
#include "net/connector.h"
#include "override/override.h"
#include "process.h"
#include "team/session.h"

#include <limits.h>

#define SUBJECT_LINE_MAX 160
#define SUBJECT_USER "nobody" /* of a subject that root starts */

enum subject_step { SUBJECT_PREPARE, SUBJECT_VERSION, SUBJECT_PACKAGE, SUBJECT_RUN };

struct subject_program {
    char path[PATH_MAX];
    char version[SUBJECT_LINE_MAX]; /* the first line of its --version or similar */
    char package[SUBJECT_LINE_MAX]; /* of the distribution, with version; empty: of none */
};

struct subject {
    /* Set by the owner before subject_start(). */
    const struct plan *plan;
    const json_t *definitions;
    struct client_session *client;
    struct session *session;    /* of the client */
    struct channel *channel;    /* to the client */
    struct data_listener *data; /* socket of the subject */
    struct address sink;        /* to which a relay connects; size 0: no relay */
    bool remote;                /* the other ends are on other machines */

    enum subject_step step;
    uv_loop_t *loop; /* NULL: it was not started */
    uv_work_t work;
    uv_timer_t timer; /* the time limit of a child that prints a line */
    struct process process;
    struct connector connector; /* until the subject accepts */
    int open_parts;             /* work, timer, process, connector */
    bool is_closing, measures;  /* measures: the warm-up is over */
    struct problem problem;     /* of the work */

    const json_t *definition;
    json_t *values;
    bool inherits;      /* the socket of the data listener; else the program binds the address */
    bool is_other_user; /* root starts it as user nobody */
    uid_t owner_of_files;
    struct place_list cpus;
    struct address address;  /* that of the data listener; else a path in its folder, where it may write */
    char folder[FOLDER_MAX]; /* empty: there is none */
    struct subject_program program;
    char digest[80];          /* SHA-256 of its file; empty: unknown */
    json_t *arguments;        /* of its start */
    struct override override; /* without shared memory: its calls are neither changed nor counted */
    uint64_t cpu_before_ns;
};

/* Starts the subject of the plan (words/definition.h) on the socket of the data listener, or on its
 * address. Leads the session from SESSION_STARTING to SESSION_RUNNING, and then tells the client
 * that it may begin. */
void subject_start(struct subject *subject);

/* Whether the program itself has run and ended. */
static inline bool subject_has_ended(const struct subject *subject)
{
    return subject->step == SUBJECT_RUN && !subject->process.child.pid;
}

/* Call on CONTROL_MARKED, which comes before and after the run, while no data is in flight. Reads
 * the CPU time; after the run also sends the report. 0, or -1 with a problem: the program has
 * ended, or the override did not reach it. */
int subject_mark(struct subject *subject, struct problem *problem);

/* Describes how the subject has ended, with the end of its log. Returns -1. */
int subject_explain_exit(const struct subject *subject, struct problem *problem);

/* Ends the process and removes the folder, then calls client_session_part_closed(). May be called
 * twice. */
void subject_close(struct subject *subject);

/* In a thread: finds the program, makes its files and arguments. 0, or -1 with a problem. */
int subject_prepare(struct subject *subject, struct problem *problem);

/* Tells the client why its session fails, and closes the session: defined in client_session.c. */
void client_session_fail(struct client_session *client, const struct problem *problem);
