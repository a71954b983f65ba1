/* SPDX-License-Identifier: MIT */
/*
 * workload=command: in place of its data threads the client runs another program, the load.
 *
 * The first run, the rehearsal, is not timed: the library of overrides counts the bytes that the
 * load moves. hyperfine times the second run. A supervisor process starts both. It ends all
 * processes of the load and removes the folder, even if this process is killed.
 */
#pragma once

#include "net/address.h"
#include "placement/place.h"
#include "plan/plan.h"

#include <jansson.h>
#include <uv.h>

struct command;

struct command_task {
    const struct plan *plan;
    const char *definitions;       /* file of --subjects; NULL: none */
    const struct address *address; /* of the subject */
    const char *key;               /* of the run, in hexadecimal; "": none */
    struct place_list cpus;        /* of the load; count 0: those of this process */
    void (*prepared)(void *owner); /* the rehearsal begins */
    /* Called when the preparation has failed, or the rehearsal or the timed run has ended.
     * PROBLEM_NONE: success. */
    void (*done)(void *owner, const struct problem *problem);
    void (*closed)(void *owner); /* after command_close() */
    void *owner;
};

/* Prepares the load in a thread, because its files may be large, and starts the rehearsal. NULL
 * with a problem; then no closed() follows. */
struct command *command_open(const struct command_task *task, uv_loop_t *loop, struct problem *problem);

/* Starts the timed run. Call it once, after the rehearsal. */
void command_time(struct command *command);

/* After the timed run: the objects `load` and `hyperfine` of the record. New references. */
void command_report(const struct command *command, json_t **load, json_t **times);

/* Ends the load and all processes that it has started, and removes its folder. */
void command_close(struct command *command);
