/* SPDX-License-Identifier: MIT */
/* The record of one run, put together from both ends: docs/record.md. */
#ifndef UNCORK_CLIENT_RECORD_H
#define UNCORK_CLIENT_RECORD_H

#include "base/problem.h"
#include "plan/plan.h"

#include <jansson.h>
#include <stdint.h>

struct run_result {
    struct problem problem; /* kind none: it went well */
    char phase[32];         /* where it did not */
    uint64_t started_unix_ns, wall_ns;
    char peer[160];          /* empty: none */
    json_t *client, *server; /* the ends' reports; NULL where there is none; borrowed */
};

/* New reference. */
json_t *record_make(const struct plan *plan, const struct run_result *result);

/* Whether what one end sent is what the other received. 0, or -1 with a failure that gives both figures. */
int record_check(const json_t *client, const json_t *server, struct problem *problem);

/* The sum of an integer key over the threads of an end, 0 where it is absent. */
uint64_t record_sum(const json_t *end, const char *key);

#endif
