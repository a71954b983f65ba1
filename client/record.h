/* SPDX-License-Identifier: MIT */
/* The record of one run, put together from both ends: docs/record.md. */
#ifndef UNCORK_CLIENT_RECORD_H
#define UNCORK_CLIENT_RECORD_H

#include "base/problem.h"
#include "plan/plan.h"
#include "transport/address.h"

#include <jansson.h>
#include <stdint.h>

struct run_result {
    struct problem problem; /* kind none: it went well */
    char phase[32];         /* where it did not */
    uint64_t started_unix_ns, wall_ns;
    char addresses[END_COUNT][ADDRESS_MAX]; /* of the other ends; empty: there is none */
    json_t *reports[END_COUNT];             /* NULL where there is none */
};

/* New reference. */
json_t *record_make(const struct plan *plan, const struct run_result *result);

/* Whether each report has figures, and what one end sent is what the other received, and a proxy all
 * that there was. 0, or -1 with a failure that names the end or gives both figures. */
int record_check(const struct run_result *result, struct problem *problem);

/* The sum of an integer key over the threads of an end, 0 where it is absent. */
uint64_t record_sum(const json_t *end, const char *key);

/* Whether the threads of an end have the key. */
bool record_knows(const json_t *end, const char *key);

/* The value of a word, "" where it was not used; whether it is this one. */
const char *record_word(const json_t *record, const char *key);
bool record_says(const json_t *record, const char *key, const char *value);

#endif
