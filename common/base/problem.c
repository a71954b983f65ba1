/* SPDX-License-Identifier: MIT */
#include "base/problem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const problem_kind_names[] = {
    [PROBLEM_NONE] = "ok",         [PROBLEM_USAGE] = "usage",
    [PROBLEM_FAILURE] = "failed",  [PROBLEM_UNSUPPORTED] = "unsupported",
    [PROBLEM_SYMPTOM] = "symptom",
};

/* What users typed may be cut at any byte. A terminal and JSON need one line of printable ASCII. */
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

enum problem_kind problem_kind_of_file(int error)
{
    bool by_machine = error == EMFILE || error == ENFILE || error == ENOMEM || error == EIO;
    return by_machine ? PROBLEM_FAILURE : PROBLEM_USAGE;
}

void problem_add(struct problem *problem, const char *text)
{
    size_t length = strlen(problem->text);
    snprintf(problem->text + length, sizeof problem->text - length, "; %s", text);
}

enum problem_kind problem_kind_parse(const char *name)
{
    for (size_t i = 0; i < sizeof problem_kind_names / sizeof *problem_kind_names; i++)
        if (!strcmp(name, problem_kind_names[i]))
            return (enum problem_kind)i;
    return PROBLEM_NONE;
}

int problem_exit_status(const struct problem *problem)
{
    return problem->kind == PROBLEM_USAGE ? 2 : problem->kind != PROBLEM_NONE;
}
