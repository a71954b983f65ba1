/* SPDX-License-Identifier: MIT */
/* What the client does in a run: its data threads with their phases, or another program
 * (workload=command). */
#pragma once

#include "command.h"
#include "net/connector.h"
#include "options.h"
#include "record.h"
#include "team/coordinator.h"

struct capture;

struct work_events {
    void (*begun)(void *owner); /* the data threads run, or the load is prepared */
    /* The work has ended: well (`problem` NULL), or with a problem in this phase. */
    void (*ended)(void *owner, const char *phase, const struct problem *problem);
    void (*closed)(void *owner); /* after work_close() */
};

struct work {
    /* Set by the owner. */
    const struct plan *plan;
    const struct options *options;
    uv_loop_t *loop;
    const struct work_events *events;
    void *owner;

    /* Set by the owner before work_start(); for a foreign peer, work_check() sets the last two. */
    struct channel *channels[END_COUNT]; /* of the other ends */
    const json_t *ready;   /* CONTROL_READY of the end that has their token; NULL: there is no server */
    struct address target; /* of the data connections */
    bool remote;           /* it is on another machine */

    struct problem problem;                        /* of work_check() */
    struct address peers[CONNECTOR_ADDRESSES_MAX]; /* a foreign peer: all addresses of its name */
    int peer_count;
    struct team team;
    struct coordinator coordinator;
    struct hub hub;
    struct command *command; /* in place of the team */
    struct capture *capture; /* NULL: no capture */
    bool is_timed;           /* the timed run of the command has begun */
};

/* Sets `problem` if this machine does not support the plan; finds a foreign peer. Blocks for
 * seconds. */
void work_check(struct work *work);

/* Starts the work. 0, or -1 with a problem; call work_close() in both cases. */
int work_start(struct work *work, struct problem *problem);

/* Handles a message of another end in the phases. -1: it does not belong here. */
int work_message(struct work *work, enum end from, enum control_type type, const json_t *body);

/* Whether this end gave up by itself, as after a suspension: what others report then follows from
 * it. */
bool work_was_cancelled(const struct work *work);

/* After a failure elsewhere. True: `ended` follows. */
bool work_cancel(struct work *work, const char *phase, const struct problem *problem);

/* The phase that a failure now has in a record. */
const char *work_phase(const struct work *work);

/* After a good end: the reports of the client. 0, or -1 with a problem. */
int work_report(struct work *work, struct run_result *result, struct problem *problem);

/* Ends the work; then calls `closed`. */
void work_close(struct work *work);

/* Releases what was needed for the report. */
void work_free(struct work *work);
