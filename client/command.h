/* SPDX-License-Identifier: MIT */
/* workload=command: in place of its data threads the client runs another program, the load.
 *
 * The first run, the rehearsal, is not timed: the library of overrides counts the bytes that the
 * load moves. hyperfine times the second run. A supervisor process starts both. It ends all
 * processes of the load and removes the folder, even if this process is killed. */
#pragma once

#include "base/files.h"
#include "override/override.h"
#include "run.h"

#include <regex.h>

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

/* ---- load.c: from a definition, or the text of command=, to programs and their files ---- */

#define LOAD_TIMER "hyperfine"  /* the program that times it */
#define LOAD_TIMES "times.json" /* what it writes */
#define LOAD_PATH_MAX (FOLDER_MAX + 16)
#define JOB_ARGUMENTS_MAX 64

/* The programs that run, one after the other. */
enum step { STEP_VERSION, STEP_TIMER, STEP_REHEARSE, STEP_TIME, STEP_COUNT };

struct job {
    const char *name;                         /* in messages */
    uint64_t limit_s;                         /* of its time */
    const char *output;                       /* file in the folder, of standard output and error */
    char *const *environment;                 /* two more variables; NULL: none */
    const char *arguments[JOB_ARGUMENTS_MAX]; /* the first is the path of the program; NULL at the end */
};

struct load {
    const struct run *run; /* set by the owner, as is the name */
    const char *name;

    char folder[FOLDER_MAX], program[PATH_MAX], timer[PATH_MAX];
    json_t *definitions;         /* has the texts of the arguments */
    json_t *arguments;           /* the first is the program */
    char *timed_line;            /* the load as an argument of hyperfine */
    struct job jobs[STEP_COUNT]; /* a job without a program is skipped */
    uint64_t moves;              /* bytes that it must move */
    regex_t counts;              /* finds in its output, as its group, how many requests it made */
    bool has_counts;
    struct override override;
    bool overridden; /* the timed run is under the library too */
};

/* Finds the program and the timer, makes its folder, writes its files and makes its jobs. Blocks
 * while it writes content. 0, or -1 with a problem; call load_free() in both cases. */
int load_prepare(struct load *load, struct problem *problem);

/* Does not remove the folder. */
void load_free(struct load *load);

/* The path of a file in the folder, in `path`. */
const char *load_path(const struct load *load, const char *name, char path[LOAD_PATH_MAX]);

struct command {
    struct run *run;
    struct place_list cpus; /* of the load; count 0: those of this process */
    uv_work_t preparation;
    struct problem problem; /* of the preparation */
    uv_poll_t answers;      /* of the supervisor */
    uv_timer_t timer;       /* of the step */
    int open_parts;         /* preparation, answers, timer */
    bool is_closing;
    enum step step;
    uint64_t until_ns;
    struct child supervisor;
    int channel_fd; /* to it: takes a step, gives the status of its job as waitpid(2); -1: closed */
    struct load load;
    char version[160], timer_version[32];
    json_t *times;
    uint64_t moved, done; /* bytes in the rehearsal; requests in the timed run */
    struct problem limit; /* what the library cannot see of the load */
};

/* ---- supervisor.c: a process that starts programs for this process and outlives it ----
 *
 * It is the subreaper of all their descendants. When a program or this process ends, normally or
 * not, the supervisor kills the descendants that are left. When the supervisor ends, it removes the
 * folder of the load. */

/* Starts the process, which has a copy of the jobs as they are now. 0, or -1 with a failure; call
 * supervisor_stop() in both cases. */
int supervisor_start(struct command *command, struct problem *problem);

/* Ends the supervisor and all programs, and removes the folder. */
void supervisor_stop(struct command *command);
