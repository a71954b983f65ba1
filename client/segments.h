/* SPDX-License-Identifier: MIT */
/* capture=on: the captured segments of a run, in addition to the figures of TCP_INFO. */
#pragma once

#include "capture/capture.h"
#include "team/team.h"

#include <jansson.h>

/* Starts the capture. Call it before the first connection to `server`. `remote`: no thread of
 * another end is on this machine. Returns NULL with a problem. Free it by capture_free(). */
struct capture *segments_watch(const struct plan *plan, const struct address *server, bool remote,
                               const char *path, struct problem *problem);

/* Stops the capture, writes its file and returns the `capture` object of the client
 * (docs/record.md). Call it after a team has ended without failure. New reference, NULL with a
 * problem. */
json_t *segments_report(struct capture *capture, const struct team *team, struct problem *problem);

void segments_print(const json_t *client);
