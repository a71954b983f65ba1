/* SPDX-License-Identifier: MIT */
/* What a run took place in, for a person: CPUs, engines, TLS, a lab. */
#ifndef UNCORK_CLIENT_SETTING_H
#define UNCORK_CLIENT_SETTING_H

#include "plan/plan.h"

#include <jansson.h>
#include <stdio.h>

/* Its lines; `all` are the ends of the record, NULL where there is none. */
void setting_print(FILE *out, const json_t *record, const json_t *const all[END_COUNT]);

/* What encrypts, "gnutls"; where the ends differ "gnutls/openssl". */
void setting_print_security(FILE *out, const json_t *record);

#endif
