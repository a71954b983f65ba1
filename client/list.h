/* SPDX-License-Identifier: MIT */
/* The vocabulary: words, their values, and which of these this machine supports. */
#pragma once

#include <jansson.h>

/* The whole vocabulary, as docs/record.md describes it. New reference. */
json_t *list_make(void);

/* Prints it for a person. */
void list_print(void);
