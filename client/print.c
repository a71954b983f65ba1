/* SPDX-License-Identifier: MIT */
#include "print.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int print_json(json_t *json, struct problem *problem)
{
    CLEANUP_JSON json_t *stolen = json;

    if (!stolen)
        return problem_failure(problem, "out of memory for an answer");
    if (json_dumpf(stolen, stdout, JSON_COMPACT) < 0 || putchar('\n') == EOF || fflush(stdout) != 0)
        return problem_failure(problem, "cannot write to standard output: %s", strerror(errno));
    return 0;
}
