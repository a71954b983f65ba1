/* SPDX-License-Identifier: MIT */
/*
 * A process that starts programs for this one and outlives it. It is the subreaper of all that they
 * start. When a program ends, or this process does, however that happens, it ends the rest; at its
 * own end it removes their folder.
 */
#pragma once

#include "base/child.h"
#include "base/problem.h"
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
    char *folder; /* where the programs run; "" when it is removed */
    const struct place_list *cpus;
    const struct job *jobs;

    struct child process;
    int channel_fd; /* -1: closed; readable when a job has ended, or the supervisor */
};

/* Starts the process, which knows the jobs as they are now. 0, or -1 with a failure;
 * supervisor_stop() it in both cases. */
int supervisor_start(struct supervisor *supervisor, struct problem *problem);

/* Begins a job. Where the supervisor has ended, supervisor_ended() says so. */
void supervisor_begin(const struct supervisor *supervisor, uint8_t number);

/* After `channel_fd` became readable: the status of the job as of waitpid(2). False: the supervisor
 * has ended. */
bool supervisor_ended(const struct supervisor *supervisor, int *status);

/* Ends all, and removes the folder. May be called twice. */
void supervisor_stop(struct supervisor *supervisor);
