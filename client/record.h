/* SPDX-License-Identifier: MIT */
/* The record of one run, made from the reports of all ends (docs/record.md), and what is printed of
 * it. */
#pragma once

#include "base/problem.h"
#include "net/address.h"
#include "plan/plan.h"

#include <jansson.h>
#include <stdint.h>

struct run_result {
    struct problem problem; /* PROBLEM_NONE: success */
    char phase[32];         /* the phase of the problem */
    uint64_t started_unix_ns, wall_ns;
    char addresses[END_COUNT][ADDRESS_MAX]; /* of the other ends; "": none */
    json_t *parts; /* by key of the record: what the ends, the subject and the load reported */
};

/* Makes the record of a run, which may have failed. New reference. */
json_t *record_make(const struct plan *plan, const struct run_result *result);

/* Checks that each report has threads, and that sent and received bytes are equal, at a proxy too.
 * Returns 0, also without a report of a server, or -1 with a failure that names the end or both
 * figures. */
int record_check(const json_t *parts, struct problem *problem);

/* The value at a path of keys ("cpu.user_ns") in an object. record_text(): "" if absent;
 * record_number(): 0 if absent. */
const char *record_text(const json_t *value, const char *path);
uint64_t record_number(const json_t *value, const char *path);

/* record_sum(): the sum over the threads of an end. record_first(): the value of the first one. */
uint64_t record_sum(const json_t *end, const char *path);
const json_t *record_first(const json_t *end, const char *path);

/* What stands before the next item of a list that is printed: `*between`, later ", ". */
static inline const char *record_between(const char **between)
{
    const char *now = *between;
    *between = ", ";
    return now;
}

/* record_word() returns the value of a word, "" if unused. record_word_is() compares it. */
const char *record_word(const json_t *record, const char *key);
bool record_word_is(const json_t *record, const char *key, const char *value);

/* answer.c prints a record of status ok in a few lines for people. environment.c prints the last
 * lines: captured segments, lab, TLS, clamped buffers, CPUs, engines. `ends`: the reports of the
 * ends; NULL: none. */
void answer_print(const json_t *record);
void environment_print(const json_t *record, const json_t *const ends[END_COUNT]);
