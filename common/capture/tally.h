/* SPDX-License-Identifier: MIT */
/*
 * What captured segments come to: the summary of a run, of the client's connections and of its measured
 * interval. Pure: segments go in, in the order in which they were captured, a summary comes out.
 *
 * Where the interval begins is no question of time, for the clocks of a thread and of a capture are two and a
 * packet lies between them. It is one of bytes: a connection that stays is told how many had gone each way
 * when its thread took its first figures (of the very TCP_INFO that the segment counters are read from), and
 * a segment belongs to the interval if it begins at that byte or later. Nothing is under way at that moment,
 * so no segment lies across. Of connections that come and go those count that were begun after as many as the
 * warm-up made. Nothing follows the interval but the end of the stream.
 */
#ifndef UNCORK_CAPTURE_TALLY_H
#define UNCORK_CAPTURE_TALLY_H

#include "capture/frame.h"

#include <jansson.h>

struct tally;

/* As seen by the client: what it sends to the server, what it receives. */
enum way { WAY_SENT, WAY_RECEIVED, WAY_COUNT };

/* Counts connections to `server`. `parted`: the ways, as bits 1 << way, on which each stream ends with a
 * close_notify, which is nobody's message. NULL when memory is short; tally_free() it. */
struct tally *tally_create(const struct endpoint *server, unsigned parted);
void tally_free(struct tally *tally);

/* Before the first segment. The connection from this port of the client counts, from these bytes on. 0, or
 * -ENOMEM. */
int tally_begin_at(struct tally *tally, uint16_t port, uint64_t sent, uint64_t received);

/* Before the first segment. All connections count but the first so many that were begun. */
void tally_begin_after(struct tally *tally, uint64_t connections);

/* The next segment. 0, or -ENOMEM. */
int tally_add(struct tally *tally, const struct segment *segment);

/* After the last: the summary of one way (docs/record.md). New reference, NULL when memory
 * is short. */
json_t *tally_to_json(struct tally *tally, enum way way);

#endif
