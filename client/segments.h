/* SPDX-License-Identifier: MIT */
/* capture=on: the segments of a run, beside the figures of TCP_INFO. */
#pragma once

#include "capture/capture.h"
#include "team/team.h"

#include <jansson.h>

/* Starts the capture, before the first connection to `server`. `remote`: no thread of another
 * end is on this machine. Returns NULL with a problem; free with capture_library->free(). */
struct capture *segments_watch(const struct plan *plan, const struct address *server, bool remote,
                               const char *path, struct problem *problem);

/* Returns the `capture` object of the client's end (docs/record.md) and finishes the file. Call
 * it after a team without failure is done. New reference, NULL with a problem. */
json_t *segments_report(struct capture *capture, const struct team *team, struct problem *problem);

void segments_print(const json_t *client);
