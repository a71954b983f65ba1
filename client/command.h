/* SPDX-License-Identifier: MIT */
/*
 * workload=command: the client runs a program of others, the load, in place of its data threads.
 *
 * First untimed, under the library of overrides, which counts what it moves; then by hyperfine. A
 * process of its own starts all of this: it ends whatever the load has left, and removes the
 * folder, also when this process is killed.
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
    struct place_list cpus;        /* of the load; none: those of this process */
    /* The rehearsal has ended, or the timed run. The problem: PROBLEM_NONE where it went well. */
    void (*done)(void *owner, const struct problem *problem);
    void (*closed)(void *owner); /* twice, after command_close() */
    void *owner;
};

#ifdef __linux__
/* Begins the rehearsal, of which done() tells later. NULL with a problem, and closed() is not
 * called. */
struct command *command_open(const struct command_task *task, uv_loop_t *loop, struct problem *problem);

/* Begins the timed run, once, after the rehearsal. */
void command_time(struct command *command);

/* After the timed run, for the record: `load` and `hyperfine`. New references. */
void command_report(const struct command *command, json_t **load, json_t **times);

/* Ends the load, its folder and whatever it has started. */
void command_close(struct command *command);
#else
#define command_open(task, loop, problem)                                                                    \
    ((void)(task), (void)(loop),                                                                             \
     problem_unsupported(problem, "workload=command: only Linux has the library that watches a load"),       \
     (struct command *)NULL)
#define command_time(command) (void)(command)
#define command_report(command, load, times) (void)(command)
#define command_close(command) (void)(command)
#endif
