/* SPDX-License-Identifier: MIT */
#include "base/problem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {
    [PROBLEM_NONE] = "ok",         [PROBLEM_USAGE] = "usage",
    [PROBLEM_FAILURE] = "failed",  [PROBLEM_UNSUPPORTED] = "unsupported",
    [PROBLEM_SYMPTOM] = "symptom",
};

/* The text may contain what the user typed, truncated at any byte. It must stay one line of
 * printable ASCII, for a terminal and for JSON. */
int problem_of_kind(struct problem *problem, enum problem_kind kind, const char *format, ...)
{
    va_list arguments;

    if (problem->kind != PROBLEM_NONE)
        return -1;
    problem->is_symptom = kind == PROBLEM_SYMPTOM;
    problem->kind = problem->is_symptom ? PROBLEM_FAILURE : kind;
    va_start(arguments, format);
    vsnprintf(problem->text, sizeof problem->text, format, arguments);
    va_end(arguments);
    for (char *at = problem->text; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    return -1;
}

enum problem_kind problem_kind_of(int error)
{
    bool by_peer = error == ECONNREFUSED || error == ECONNRESET || error == EPIPE || error == ENOTCONN;
    return by_peer ? PROBLEM_SYMPTOM : PROBLEM_FAILURE;
}

void problem_add(struct problem *problem, const char *text)
{
    size_t length = strlen(problem->text);
    snprintf(problem->text + length, sizeof problem->text - length, "; %s", text);
}

const char *problem_kind_name(enum problem_kind kind)
{
    return kind_names[kind];
}

enum problem_kind problem_kind_parse(const char *name)
{
    for (size_t i = 0; i < sizeof kind_names / sizeof *kind_names; i++)
        if (!strcmp(name, kind_names[i]))
            return (enum problem_kind)i;
    return PROBLEM_NONE;
}

int problem_exit_status(const struct problem *problem)
{
    return problem->kind == PROBLEM_USAGE ? 2 : problem->kind != PROBLEM_NONE;
}
