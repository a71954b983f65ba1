/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_CLIENT_ANSWER_H
#define UNCORK_CLIENT_ANSWER_H

#include <jansson.h>

/* Prints a record of status ok in a few lines for a person. */
void answer_print(const json_t *record);

#endif
