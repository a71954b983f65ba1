/* SPDX-License-Identifier: MIT */
/* Overrides: a preloaded library changes and counts the calls of an unmodified program. The program
 * starts with `environment`, and with `file` open. Only for Linux. */
#pragma once

#include "base/problem.h"
#include "override/shared.h"

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Zero it before use. */
struct override {
    struct shared *shared;
    int file;             /* of the shared memory; the program inherits it. Programs that it starts
                             open it by /proc: this process must run, as the same user */
    char *environment[2]; /* "LD_PRELOAD=...", "UNCORK_OVERRIDE=...": replace variables of these names */
    char library[PATH_MAX];
    int library_file; /* of the library, inherited too; 0: the program opens it by its path */
};

/* "none", or changes like "nodelay", "more:64", "nodelay+sndbuf:256K". 0, or -1 with a problem. */
int override_parse(struct change *change, const char *text, struct problem *problem);

/* Writes the shortest text that override_parse() reads back, truncated to `size`. */
void override_format(const struct change *change, char *text, size_t size);

/* Makes the shared memory and finds the library: beside this program, or where it is installed.
 * `records_groups`: records groups and waits too, which costs some ns a call. `other_user`: the
 * program may run as a user who cannot enter the folder of the library. 0, or -1 with a problem;
 * call override_close() in both cases. */
int override_open(struct override *override, const struct change *change, bool records_groups,
                  bool other_user, struct problem *problem);

/* The same for the program at `path` and the override `text`, without groups and waits. A program
 * that the library does not reach is an unsupported problem. */
int override_start(struct override *override, const char *text, const char *path, bool other_user,
                   struct problem *problem);

void override_close(struct override *override);

/* Checks by the counts that a process loaded the library and that the change took effect on a
 * connection. 0, or -1 with a problem that says what is missing. */
int override_proof(const struct shared *shared, struct problem *problem);

/* Measures how many ns the library adds to a call on a socket. 0 if it cannot be measured. */
double override_call_ns(void);

/* ---- which programs the library reaches: reach.c ---- */

/* Rejects a program that the library does not reach: a static one, one for another machine or
 * another C library, a Go program, one that changes its user or capabilities. Of a script, the
 * interpreter is checked. 0, or -1 with a problem. */
int reach_check(const char *path, struct problem *problem);

/* Rejects a running process whose sends the library may not see: it has an io_uring, or a seccomp
 * filter of its own. 0, or -1 with a problem. A process that has ended is not rejected. */
int reach_check_process(pid_t pid, struct problem *problem);

/* Calls reach_check_process() for every process that loaded the library. */
void reach_check_all(const struct shared *shared, struct problem *problem);

/* ---- how the messages of a program leave, and which override would change that: report.c ---- */

/* The whole report: docs/record.md has its keys. `subject`: the program as a value of subject=,
 * other words may follow; NULL: no subject. `call_ns`: ns that the library adds to a call. `limit`:
 * what the library cannot see or change in this program; "": nothing known. New reference. The program
 * may have written anything into the memory. Only one thread may call it. */
json_t *report_make(const struct shared *shared, const char *subject, double call_ns, const char *limit);

/* Prints the report for people. Lines have at most 100 columns if the paths are short. */
void report_print(FILE *file, const json_t *report);
