/* SPDX-License-Identifier: MIT */
/* A process that this one started and reaps. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_TEXT_MAX 48

struct child {
    pid_t pid;  /* 0: it was not started, or has ended */
    int status; /* of waitpid(2), when it has ended */
};

/* Whether it has ended, or ends within this time; also true where it was not started. */
bool child_ends_within(struct child *child, uint64_t ms);

/* Sends SIGTERM, after `ms` SIGKILL, and reaps it. Harmless where it does not run. */
void child_end(struct child *child, uint64_t ms);

/* How it has ended: "was ended by signal 9", "ended with status 1". */
void child_describe(const struct child *child, char text[CHILD_TEXT_MAX]);
