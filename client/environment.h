/* SPDX-License-Identifier: MIT */
#pragma once

#include "plan/plan.h"

#include <jansson.h>

/* Prints the environment of the run: lab, TLS, clamped buffers, CPUs, engines. `ends`: the reports
 * of the ends; NULL: none. */
void environment_print(const json_t *record, const json_t *const ends[END_COUNT]);
