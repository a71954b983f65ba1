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

#include "base/files.h"
#include "data_listener.h"
#include "net/connector.h"
#include "override/override.h"
#include "process.h"

#include <limits.h>

#define SUBJECT_LINE_MAX 160

enum subject_step { SUBJECT_FIND, SUBJECT_VERSION, SUBJECT_PACKAGE, SUBJECT_PREPARE, SUBJECT_RUN };

struct subject_events {
    void (*launched)(void *owner); /* the program runs; awaits that it accepts a connection */
    void (*ready)(void *owner);    /* it has accepted one */
    /* It could not be started, or it has ended: the problem quotes the end of its log. */
    void (*failed)(void *owner, const struct problem *problem);
    void (*closed)(void *owner); /* after subject_close(): the owner may free the memory */
};

struct subject {
    /* Set by the owner before subject_start(). */
    const struct plan *plan;
    const json_t *definitions;
    struct channel *channel;    /* to the client */
    struct data_listener *data; /* address and socket of the subject */
    struct address sink;        /* to which a relay connects; size 0: no relay */
    bool remote;                /* the other ends are on other machines */
    const struct subject_events *events;
    void *owner;

    enum subject_step step;
    uv_loop_t *loop;
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
    char folder[FOLDER_MAX];        /* empty: there is none */
    char program[PATH_MAX];         /* path of the file */
    char digest[80];                /* SHA-256 of the file; empty: unknown */
    char version[SUBJECT_LINE_MAX]; /* the first line of its --version or similar */
    char package[SUBJECT_LINE_MAX]; /* of the distribution, with version; empty: of none */
    json_t *arguments;              /* of its start */
    struct override override;       /* without shared memory: its calls are neither changed nor counted */
    uint64_t cpu_before_ns;
};

/* Starts the subject of the plan (words/definition.h) on the socket of the data listener, or on its
 * address. One of the events `ready` and `failed` follows. */
void subject_start(struct subject *subject, uv_loop_t *loop);

/* Whether subject_start() was called. */
static inline bool subject_is_open(const struct subject *subject)
{
    return subject->loop != NULL;
}

/* Whether the program itself has run and ended. */
static inline bool subject_has_ended(const struct subject *subject)
{
    return subject->step == SUBJECT_RUN && !subject->process.child.pid;
}

/* Call on CONTROL_MARKED, which comes before and after the run, while no data is in flight. Reads
 * the CPU time. Before the run returns 0. After the run sends the report and returns 1. -1 with a
 * problem if the override did not reach the program. */
int subject_mark(struct subject *subject, struct problem *problem);

/* Describes how the subject has ended. */
void subject_explain_exit(const struct subject *subject, struct problem *problem);

/* Ends the process and removes the folder, then calls `closed`. May be called twice. */
void subject_close(struct subject *subject);

/* Makes the files and arguments of the subject. 0, or -1 with a problem. */
int subject_prepare(struct subject *subject, struct problem *problem);
