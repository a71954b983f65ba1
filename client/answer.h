/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

/* Prints a record of status ok in a few lines for people. */
void answer_print(const json_t *record);
