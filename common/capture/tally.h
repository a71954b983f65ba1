/* SPDX-License-Identifier: MIT */
/* Summary of the captured segments of the client's connections, in the measured interval of a run.
 * The functions are pure: segments go in, in the order of their capture, and a summary comes out.
 * A segment belongs to the interval if it begins at the first byte of the interval or later
 * (docs/design/interval.md). With reconnects, the connections of the warm-up are skipped by their
 * number. */
#pragma once

#include "capture/frame.h"

#include <jansson.h>

/* The bytes of a stream that were captured: disjoint ranges, ascending. Nearly always one range. */
struct ranges {
    struct range {
        uint64_t begin, end; /* bytes `begin` to `end` - 1 */
    } * list;
    size_t count;
};

/* Adds a range. Returns how many of its bytes are new. */
uint64_t ranges_add(struct ranges *ranges, uint64_t begin, uint64_t end);
void ranges_free(struct ranges *ranges);

struct tally;

enum way { WAY_SENT, WAY_RECEIVED, WAY_COUNT }; /* as the client sees it */

/* Counts connections to `server`. `close_notify_ways`: bits 1 << way for the ways on which each
 * stream ends with a close_notify, which is no part of a message. Free it by tally_free(). */
struct tally *tally_create(const struct endpoint *server, unsigned close_notify_ways);
void tally_free(struct tally *tally);

/* Call before the first segment. Counts the connection of this client port, from these bytes on. */
void tally_begin_at(struct tally *tally, uint16_t port, uint64_t sent, uint64_t received);

/* Call before the first segment. Counts all connections except the first `connections`. */
void tally_begin_after(struct tally *tally, uint64_t connections);

void tally_add(struct tally *tally, const struct segment *segment);

/* Call after the last segment. Returns the summary of one way (docs/record.md). New reference. */
json_t *tally_to_json(struct tally *tally, enum way way);
