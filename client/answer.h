/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

/* Prints a record of status ok in a few lines for a person. */
void answer_print(const json_t *record);
