/* SPDX-License-Identifier: MIT */
/* From words to a plan and back, and to the values of a matrix. The client parses what users type.
 * The server parses the same words, which arrive over the control channel, with the same code. */
#pragma once

#include "plan/plan.h"

#include <jansson.h>

/* Parses `count` words "key=value" over the defaults. 0, or -1 with a usage problem. After success
 * call plan_free(). */
int plan_parse(struct plan *plan, const char *const *words, size_t count, struct problem *problem);

/* Every word that this run uses, defaults included: {"transport": "tcp", ...}, in the order of
 * word_list. A word that differs between the ends appears as client.WORD and server.WORD. New
 * reference. */
json_t *plan_words(const struct plan *plan);

/* The given words that this run uses. New reference. Appends the keys of the other given words to
 * `unused`. */
json_t *plan_words_given(const struct plan *plan, json_t *unused);

#define EXPAND_VALUES_MAX 10000

/* Words with several values: lists "a,b,c" and ranges, which never exceed their end. The runner
 * makes the cells of a matrix, the product of the values.
 *
 *     64..1M      doubles: 64, 128, ... 1M
 *     64..1M:4    multiplies by 4
 *     1..16:+1    adds 1
 *
 * [{"key": "message", "values": ["64", "128"]}, ...] in the given order, with the values in
 * canonical spelling. New reference; NULL with a usage problem. */
json_t *expand_words(const char *const *words, size_t count, struct problem *problem);
