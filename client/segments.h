/* SPDX-License-Identifier: MIT */
/* capture=on: the segments of a run, beside what TCP counted. */
#ifndef UNCORK_CLIENT_SEGMENTS_H
#define UNCORK_CLIENT_SEGMENTS_H

#include "capture/capture.h"
#include "team/team.h"

#include <jansson.h>

/* Begins before the first connection to `server`. `remote`: no thread of another end is on this machine.
 * NULL with a problem; capture_free() it. */
struct capture *segments_watch(const struct plan *plan, const struct address *server, bool remote,
                               const char *path, struct problem *problem);

/* The `capture` object of the client's end (docs/record.md), when its team is done and did not fail; the file
 * is made. New reference, NULL with a problem. */
json_t *segments_report(struct capture *capture, const struct team *team, struct problem *problem);

/* For a person; nothing where nothing was captured. */
void segments_print(FILE *out, const json_t *client);

#endif
