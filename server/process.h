/* SPDX-License-Identifier: MIT */
/* A program that this server starts. It ends with this server, and its output goes to a file. */
#pragma once

#include "base/child.h"
#include "placement/place.h"

#include <pwd.h>

#define PROCESS_ARGUMENTS_MAX 64
#define PROCESS_PATH "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin" /* its PATH */

struct launch {
    char *arguments[PROCESS_ARGUMENTS_MAX + 1]; /* of execve(2); the first is the path of the program */
    const char *folder;                         /* working directory */
    const char *output;                         /* name of a file there, for its output */
    int listener;                               /* becomes descriptor 3 of the program; -1: none */
    const struct place_list *cpus;              /* NULL: those of this process */
    const struct passwd *user;                  /* NULL: that of this process */
    char *const *variables;                     /* two more than PATH and LISTEN_FDS; NULL: none */
};

/* Starts the program as the leader of a session. 0, or -1 with errno. */
int process_start(struct child *child, const struct launch *launch);

/* Kills the program and the rest of its session by SIGKILL: its data is only in its folder. No
 * effect if it does not run. */
void process_end(struct child *child);

/* The CPU time of all its threads, including those that have ended. 0 if it cannot be read. */
uint64_t process_cpu_ns(const struct child *child);
