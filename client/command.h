/* SPDX-License-Identifier: MIT */
/*
 * workload=command: in place of its data threads the client runs another program, the load.
 *
 * The first run, the rehearsal, is not timed: the library of overrides counts the bytes that the
 * load moves. hyperfine times the second run. A supervisor process starts both. It ends all
 * processes of the load and removes the folder, even if this process is killed.
 */
#pragma once

#include "client.h"
#include "control/channel.h"
#include "placement/place.h"

struct command;

struct command_task {
    const struct plan *plan;
    const char *definitions;       /* file of --subjects; NULL: none */
    const struct address *address; /* of the subject */
    const char *key;               /* of the run, in hexadecimal; "": none */
    struct place_list cpus;        /* of the load; count 0: those of this process */
    struct channel *server;        /* that of the subject */
    struct run *run;
};

/* Prepares the load in a thread, because its files may be large, and starts the rehearsal. NULL
 * with a problem. */
struct command *command_open(const struct command_task *task, uv_loop_t *loop, struct problem *problem);

/* Handles a message of the server. -1: it does not belong here. */
int command_message(struct command *command, enum control_type type);

/* After the timed run: sets `load` and `hyperfine` of the record. */
void command_report(const struct command *command, json_t *parts);

/* Ends the load and all processes that it has started, and removes its folder; then calls
 * run_part_closed(). */
void command_close(struct command *command);
