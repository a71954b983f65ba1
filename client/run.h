/* SPDX-License-Identifier: MIT */
/* One run: connects to all ends, takes them through the phases and makes one record. */
#pragma once

#include "base/program.h"
#include "options.h"
#include "own_server.h"

#include <jansson.h>
#include <uv.h>

/* State that is kept between runs: the loop, and the server and proxy that the client started. */
struct client {
    uv_loop_t loop;
    struct own_server own[END_COUNT]; /* by end; own[END_CLIENT] is never started */
    const struct options *options;
    struct parent_watch parent; /* with --with-parent */
    bool orphaned;              /* the parent has ended, so a run in progress ends too */
};

/* Runs the plan and returns its record, a new reference. A failed run has a record too. Returns
 * NULL with a usage problem that only the server could detect. */
json_t *run_cell(struct client *client, const struct plan *plan, struct problem *problem);

/* Returns {"client": facts, "server": facts, "proxy": facts}, with the ends of the plan. New
 * reference, NULL with a problem. */
json_t *run_facts(struct client *client, const struct plan *plan, struct problem *problem);
