/* SPDX-License-Identifier: MIT */
#pragma once

#include "record.h"

/* Prints a record of status ok in a few lines for people. */
void answer_print(const json_t *record);

/* Its last lines: captured segments, lab, TLS, clamped buffers, CPUs, engines. `ends`: the reports
 * of the ends; NULL: none. */
void answer_print_environment(const json_t *record, const json_t *const ends[END_COUNT]);
