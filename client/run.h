/* SPDX-License-Identifier: MIT */
/* One run: leads all ends through the phases and makes one record. */
#ifndef UNCORK_CLIENT_RUN_H
#define UNCORK_CLIENT_RUN_H

#include "client.h"
#include "plan/plan.h"

#include <jansson.h>

/* Runs the plan and returns its record (new reference), also of a failed run. Returns NULL and
 * the problem for a usage problem that only the server could detect. */
json_t *run_cell(struct client *client, const struct plan *plan, struct problem *problem);

/* Returns {"client": facts, "server": facts, "proxy": facts}, with the ends of the plan. New
 * reference, NULL with a problem. */
json_t *run_facts(struct client *client, const struct plan *plan, struct problem *problem);

#endif
