/* SPDX-License-Identifier: MIT */
/* One run: connects to all ends, takes them through the phases and makes one record. */
#pragma once

#include "base/parent_watch.h"
#include "control/codec.h"
#include "options.h"
#include "own_server.h"

struct run;
struct link;

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

/* ---- what the parts of a run tell it: run.c defines these functions ---- */

/* The link is open: messages may be sent. It cannot be opened, or has ended. */
void run_link_opened(struct link *link);
void run_link_failed(struct link *link, const struct problem *problem);

/* A message has arrived on this struct link. */
void run_link_message(void *link, enum control_type type, const json_t *body);

/* The data threads run, or the load is prepared. */
void run_work_begun(struct run *run);

/* The work has ended: well (`problem` NULL), or with a problem in this phase. */
void run_work_ended(struct run *run, const char *phase, const struct problem *problem);

/* A link or the work is closed. */
void run_part_closed(void *run);
