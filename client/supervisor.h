/* SPDX-License-Identifier: MIT */
/*
 * A process that starts programs for this process and outlives it. It is the subreaper of all their
 * descendants. When a program or this process ends, normally or not, the supervisor kills the
 * descendants that are left. When the supervisor ends, it removes the folder of the programs.
 */
#pragma once

#include "base/problem.h"
#include "base/program.h"
#include "placement/place.h"

#include <stdbool.h>
#include <stdint.h>

#define JOB_ARGUMENTS_MAX 64

struct job {
    const char *arguments[JOB_ARGUMENTS_MAX]; /* the first is the path of the program; NULL at the end */
    const char *output;                       /* file in the folder, of standard output and error */
    char *const *environment;                 /* two more variables; NULL: none */
};

struct supervisor {
    /* Set by the owner. */
    char *folder; /* working directory of the programs; "" after it was removed */
    const struct place_list *cpus;
    const struct job *jobs;

    struct child process;
    int channel_fd; /* readable when a job or the supervisor has ended; -1: closed */
};

/* Starts the process, which has a copy of the jobs as they are now. 0, or -1 with a failure; call
 * supervisor_stop() in both cases. */
int supervisor_start(struct supervisor *supervisor, struct problem *problem);

/* Starts a job. If the supervisor has ended, the next supervisor_ended() returns false. */
void supervisor_begin(const struct supervisor *supervisor, uint8_t number);

/* Call when `channel_fd` is readable. Sets the status of waitpid(2). False: no supervisor left. */
bool supervisor_ended(const struct supervisor *supervisor, int *status);

/* Ends the supervisor and all programs, and removes the folder. May be called twice. */
void supervisor_stop(struct supervisor *supervisor);
