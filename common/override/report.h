/* SPDX-License-Identifier: MIT */
/* What the counts of a program say: how its messages leave, and which override would change
 * that. */
#pragma once

#include "override/shared.h"

#include <jansson.h>
#include <stdio.h>

struct advice {
    char says[512];    /* one sentence */
    char override[32]; /* to try; "" where none is of use */
    char measure[256]; /* the command that measures it; "" */
};

/* The most frequent shape of these connections; NULL where there is none. */
const struct shared_shape *report_shape(const struct shared_kind *kind);

/* `subject`: the program as subject= knows it, other words may follow; NULL: it does not. */
void report_advise(const struct shared_kind *kind, const char *subject, struct advice *advice);

/* The whole report: docs/record.md has its keys. `call_ns`: what a counted call costs. `limit`:
 * what the library cannot see or change in this program; "": nothing is known. New reference. */
json_t *report_make(const struct shared *shared, const char *subject, double call_ns, const char *limit);

/* Prints the report for people, in lines of at most 100 columns where paths are short. */
void report_print(FILE *file, const json_t *report);
