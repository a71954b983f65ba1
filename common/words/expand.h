/* SPDX-License-Identifier: MIT */
/*
 * Words with several values: lists "a,b,c" and ranges.
 *
 *     64..1M      doubles: 64, 128, ... 1M
 *     64..1M:4    multiplies by 4
 *     1..16:+1    adds 1
 *
 * A range never exceeds its end. The runner makes the cells of a matrix, the product of the values.
 */
#pragma once

#include "base/problem.h"

#include <jansson.h>
#include <stddef.h>

#define EXPAND_VALUES_MAX 10000

/* [{"key": "message", "values": ["64", "128"]}, ...] in the given order, with the values in
 * canonical spelling. New reference; NULL with a usage problem. */
json_t *expand_words(const char *const *words, size_t count, struct problem *problem);
