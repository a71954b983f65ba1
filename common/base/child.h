/* SPDX-License-Identifier: MIT */
/* A child process that this process reaps. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_TEXT_MAX 48

struct child {
    pid_t pid;  /* 0: not started, or ended */
    int status; /* of waitpid(2), after it has ended */
};

/* Notes how the child has ended, as the exit callback of libuv has it. */
void child_note_end(struct child *child, int64_t exit_status, int term_signal);

/* Waits at most `ms`. Returns true if the child has ended, or was never started. */
bool child_ends_within(struct child *child, uint64_t ms);

/* Sends SIGTERM, after `ms` SIGKILL, and reaps the child. No effect if it does not run. */
void child_end(struct child *child, uint64_t ms);

/* Writes how the child has ended: "was ended by signal 9", "ended with status 1". */
void child_describe(const struct child *child, char text[CHILD_TEXT_MAX]);
