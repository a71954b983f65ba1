/* SPDX-License-Identifier: MIT */
/* What there is: words, values, and what this machine supports. */
#ifndef UNCORK_CLIENT_LIST_H
#define UNCORK_CLIENT_LIST_H

#include <jansson.h>
#include <stdio.h>

/* The whole vocabulary as docs/record.md describes it. New reference. */
json_t *list_make(void);

/* The same for a person. */
void list_print(FILE *out, const json_t *list);

#endif
