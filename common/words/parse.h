/* SPDX-License-Identifier: MIT */
/* From words to a plan, and back. The client parses what users type. The server parses the same
 * words, which arrive over the control channel, with the same code. */
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
