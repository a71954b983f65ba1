/* SPDX-License-Identifier: MIT */
/* One run: both ends led through the phases, one record. */
#ifndef UNCORK_CLIENT_RUN_H
#define UNCORK_CLIENT_RUN_H

#include "client.h"
#include "plan/plan.h"

#include <jansson.h>

/* Runs the plan and returns its record, whatever happens; a usage problem that only the server could see (and
 * no record) comes back in `problem`. New reference, or NULL with the problem. */
json_t *run_cell(struct client *client, const struct plan *plan, struct problem *problem);

/* {"client": facts, "server": facts, "proxy": facts}, as far as the plan has them. New reference, NULL with a
 * problem. */
json_t *run_facts(struct client *client, const struct plan *plan, struct problem *problem);

/* Ends the run with a failure: the process that asked for it has ended. */
void run_give_up_orphaned(struct run *run);

#endif
