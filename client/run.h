/* SPDX-License-Identifier: MIT */
/* One run: leads all ends through the phases and makes one record. */
#pragma once

#include "base/parent_watch.h"
#include "options.h"
#include "own_server.h"

#include <jansson.h>
#include <uv.h>

/* State that outlives a run: the loop, and our own server and proxy. */
struct client {
    uv_loop_t loop;
    struct own_server own[END_COUNT]; /* by end; own[END_CLIENT] is never started */
    const struct options *options;
    struct parent_watch parent; /* with --with-parent */
    bool orphaned;              /* the parent has ended: a run in progress ends */
};

/* Runs the plan and returns its record (new reference), also of a failed run. Returns NULL and
 * the problem for a usage problem that only the server could detect. */
json_t *run_cell(struct client *client, const struct plan *plan, struct problem *problem);

/* Returns {"client": facts, "server": facts, "proxy": facts}, with the ends of the plan. New
 * reference, NULL with a problem. */
json_t *run_facts(struct client *client, const struct plan *plan, struct problem *problem);
