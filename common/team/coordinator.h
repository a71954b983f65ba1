/* SPDX-License-Identifier: MIT */
/* How the ends of a run go through the phases together: the same code at every end, over control
 * channels. The channels are a star with the client as the hub. A driver waits until all its
 * receivers are ready. The client collects these messages from every other end and reports to the
 * server. */
#pragma once

#include "control/channel.h"
#include "team/team.h"

struct coordinator {
    struct team *team;
    struct channel *channels[END_COUNT];      /* by end; NULL: no channel, nothing to wait for */
    unsigned ready[RELEASE_NEVER][END_COUNT]; /* by release and driver: ends, as bits 1 << end */
    unsigned joined;                          /* ends with all their connections */
    unsigned marked;                          /* at the hub: ends with their start figures */
};

/* Call when the threads of all ends run. */
void coordinator_start(struct coordinator *coordinator);

/* Call when the team has passed a phase. Sends the message of phases.def, but for the report. */
void coordinator_passed(struct coordinator *coordinator, enum phase phase);

/* Handles a message from end `from`. Returns 1 if it was handled, and 0 if it is not a message of
 * the phases. Returns -1 with a failure if it is not valid here. */
int coordinator_message(struct coordinator *coordinator, enum end from, enum control_type type,
                        const json_t *body, struct problem *problem);
