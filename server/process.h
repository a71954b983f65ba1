/* SPDX-License-Identifier: MIT */
/* A program that this server starts. It ends with this server, and its output goes to a file.
 *
 * The child first runs this server again, as `uncork-server --start-child`: that process leads a
 * session, takes its CPUs, its user and its output, and becomes the program. */
#pragma once

#include "base/program.h"
#include "placement/placement.h"

#include <jansson.h>
#include <uv.h>

#define PROCESS_ARGUMENTS_MAX 64
#define PROCESS_PATH "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin" /* its PATH */
#define PROCESS_START_CHILD "--start-child"
#define PROCESS_BECOME_LEAST 8 /* arguments with it: six texts and a program */

struct launch {
    const json_t *arguments;       /* texts; the first is the path of the program */
    char *folder;                  /* working directory */
    char *output;                  /* name of a new file there, for its output */
    int listener;                  /* becomes descriptor 3 of the program; -1: none */
    const struct place_list *cpus; /* NULL: those of this process */
    char *user;                    /* NULL: that of this process */
    char *const *variables;        /* two more than PATH and LISTEN_FDS; NULL: none */
};

struct process {
    uv_process_t handle;
    struct child child; /* pid 0: does not run; then its status says how it ended */
    int error;          /* negative errno value: it could not be started */
    /* After the end of the program, whose session is killed too, and where it could not be started.
     * The memory may be used again. */
    void (*ended)(void *owner);
    void *owner;
};

/* Starts the program as the leader of a session; ended() follows. */
void process_start(struct process *process, uv_loop_t *loop, const struct launch *launch);

/* Kills the program by SIGKILL: its data is only in its folder. No effect if it does not run. */
void process_kill(const struct process *process);

/* The CPU time of all its threads, including those that have ended. 0 if it cannot be read. */
uint64_t process_cpu_ns(const struct process *process);

/* The main function of `--start-child`, with the arguments after it. */
_Noreturn void process_become(char **arguments);
