/* SPDX-License-Identifier: MIT */
/* The report of a program: how its messages leave, and which override would change that. */
#pragma once

#include "override/shared.h"

#include <jansson.h>
#include <stdio.h>

struct advice {
    char says[512];    /* one sentence */
    char override[32]; /* to try; "": none is of use */
    char measure[256]; /* the command that measures it; "": none */
};

/* About the most frequent shape of these connections. `subject`: the program as a value of subject=,
 * other words may follow; NULL: no subject. */
void report_advise(const struct shared_kind *kind, const char *subject, struct advice *advice);

/* The whole report: docs/record.md has its keys. `call_ns`: ns that the library adds to a call.
 * `limit`: what the library cannot see or change in this program; "": nothing known. New
 * reference. */
json_t *report_make(const struct shared *shared, const char *subject, double call_ns, const char *limit);

/* Prints the report for people. Lines have at most 100 columns if the paths are short. */
void report_print(FILE *file, const json_t *report);
