/* SPDX-License-Identifier: MIT */
/* One line for the user: what is wrong, where, what would be right.
 *
 * Functions return 0 or a negative errno value, as libuv does. Where the user reads the reason, a
 * function also takes a `struct problem`. The one that knows most details describes it, once. */
#pragma once

#include <stdbool.h>

enum problem_kind {
    PROBLEM_NONE,
    PROBLEM_USAGE,       /* the words are wrong: exit status 2 */
    PROBLEM_FAILURE,     /* the attempt failed: exit status 1 */
    PROBLEM_UNSUPPORTED, /* this machine cannot do it: recorded, a matrix goes on */
    PROBLEM_SYMPTOM,     /* argument and message only: a failure that `is_symptom` */
};

struct problem {
    enum problem_kind kind;
    bool is_symptom; /* a peer refused, ended or broke a connection, and may know why */
    char text[600];  /* printable ASCII; "?" stands for anything else */
};

/* Sets the problem and returns -1. A problem that is set already stays: it is the first cause. */
__attribute__((format(printf, 3, 4))) int problem_of_kind(struct problem *problem, enum problem_kind kind,
                                                          const char *format, ...);
#define problem_usage(problem, ...) problem_of_kind(problem, PROBLEM_USAGE, __VA_ARGS__)
#define problem_failure(problem, ...) problem_of_kind(problem, PROBLEM_FAILURE, __VA_ARGS__)
#define problem_symptom(problem, ...) problem_of_kind(problem, PROBLEM_SYMPTOM, __VA_ARGS__)
#define problem_unsupported(problem, ...) problem_of_kind(problem, PROBLEM_UNSUPPORTED, __VA_ARGS__)

/* The kind of a failed call on a connection, by its errno; and on a file that the user has named: a
 * usage problem, unless this machine lacks memory or descriptors, or cannot read. */
enum problem_kind problem_kind_of(int error);
enum problem_kind problem_kind_of_file(int error);

/* Appends "; " and the text, truncated to the size of the problem. */
void problem_add(struct problem *problem, const char *text);

/* In `status`, by kind: "usage", "failed", "unsupported", "ok"; in messages also "symptom". */
extern const char *const problem_kind_names[];

/* The kind of that name; PROBLEM_NONE for any other name. */
enum problem_kind problem_kind_parse(const char *name);

/* Exit status of a process with this problem: 2 for usage, 1 for the others, 0 for none. */
int problem_exit_status(const struct problem *problem);
