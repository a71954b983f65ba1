/* SPDX-License-Identifier: MIT */
/* Prints the environment of a run for a person: CPUs, engines, TLS, a lab. */
#ifndef UNCORK_CLIENT_SETTING_H
#define UNCORK_CLIENT_SETTING_H

#include "plan/plan.h"

#include <jansson.h>
#include <stdio.h>

/* Prints the lines. `all`: the ends of the record, NULL where there is none. */
void setting_print(FILE *out, const json_t *record, const json_t *const all[END_COUNT]);

/* Prints the library that encrypts, "gnutls"; if the ends differ "gnutls/openssl". */
void setting_print_security(FILE *out, const json_t *record);

#endif
