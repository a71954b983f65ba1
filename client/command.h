/* SPDX-License-Identifier: MIT */
/*
 * workload=command: in place of its data threads the client runs another program, the load.
 *
 * The first run, the rehearsal, is not timed: the library of overrides counts the bytes that the
 * load moves. hyperfine times the second run. A supervisor process starts both. It ends all
 * processes of the load and removes the folder, even if this process is killed.
 */
#pragma once

#include "run.h"

struct command;

/* Prepares the load in a thread, because its files may be large, and starts the rehearsal. NULL
 * with a problem. */
struct command *command_open(struct run *run, struct problem *problem);

/* Handles a message of the server. -1: it does not belong here. */
int command_message(struct command *command, enum control_type type);

/* After the timed run: sets `load` and `hyperfine` of the record. */
void command_report(const struct command *command, json_t *parts);

/* Ends the load and all processes that it has started, and removes its folder; then calls
 * run_part_closed(). */
void command_close(struct command *command);
