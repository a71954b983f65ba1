/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_CLIENT_PRINT_H
#define UNCORK_CLIENT_PRINT_H

#include "base/problem.h"

#include <jansson.h>

/* Prints `json`, which is stolen, as one line on standard output. Returns 0, or -1 with a
 * failure. */
int print_json(json_t *json, struct problem *problem);

#endif
