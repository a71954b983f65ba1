/* SPDX-License-Identifier: MIT */
/* What the client does in a run: its data threads with their phases, or another program
 * (workload=command). */
#pragma once

#include "client.h"
#include "command.h"
#include "net/connector.h"
#include "record.h"
#include "team/coordinator.h"

struct capture;

struct work {
    /* Set by the owner. */
    const struct plan *plan;
    struct client *client;
    struct run *run;

    /* Set by the owner before work_start(); for a foreign peer, work_check() sets the last two. */
    struct hub hub;        /* its channels to the other ends */
    json_t *ready;         /* CONTROL_READY of the end that has their token; NULL: there is no server */
    struct address target; /* of the data connections */
    bool remote;           /* it is on another machine */

    struct problem problem;                        /* of work_check() */
    struct address peers[CONNECTOR_ADDRESSES_MAX]; /* a foreign peer: all addresses of its name */
    int peer_count;
    struct team team;
    struct coordinator coordinator;
    struct command *command; /* in place of the team */
    struct capture *capture; /* NULL: no capture */
};

/* Sets `problem` if this machine does not support the plan; finds a foreign peer. Blocks for
 * seconds. */
void work_check(struct work *work);

/* Starts the work. 0, or -1 with a problem. */
int work_start(struct work *work, struct problem *problem);

/* Handles a message of another end in the phases. -1: it does not belong here. */
int work_message(struct work *work, enum end from, enum control_type type, const json_t *body);

/* After a failure elsewhere. True: run_work_ended() follows. */
bool work_cancel(struct work *work, const char *phase, const struct problem *problem);

/* The phase that a failure now has in a record. */
const char *work_phase(const struct work *work);

/* After a good end: the reports of the client. 0, or -1 with a problem. */
int work_report(const struct work *work, struct run_result *result, struct problem *problem);

/* Ends the work, if it was started; then calls run_part_closed(). */
void work_close(struct work *work);
