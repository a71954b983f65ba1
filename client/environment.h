/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/plan.h"

#include <jansson.h>

/* Prints what the run had around it: lab, TLS, buffers that were clamped, CPUs, engines. `ends`:
 * the reports of the ends, NULL where there is none. */
void environment_print(const json_t *record, const json_t *const ends[END_COUNT]);
