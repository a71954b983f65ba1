/* SPDX-License-Identifier: MIT */
/* Leads the ends of a run through the phases together: the same code at every end, over control
 * channels. The channels are a star with the client as the hub. A driver waits until all its
 * receivers are ready. The client collects the messages of the other ends, and tells the server
 * when the receivers of the server are ready. */
#pragma once

#include "control/channel.h"
#include "team/team.h"

struct coordinator {
    struct team *team;
    struct channel *channels[END_COUNT];      /* by end; NULL: no channel, nothing to wait for */
    unsigned ready[RELEASE_NEVER][END_COUNT]; /* ends by release and driver: bits 1 << end */
    unsigned joined;                          /* ends that have all their connections */
    unsigned marked;                          /* at the hub: ends that have their start figures */
};

/* Call when the threads of all ends are running. */
void coordinator_start(struct coordinator *coordinator);

/* Call when the team has passed a phase. Sends the message of that phase in phases.def, except the
 * report. */
void coordinator_passed(struct coordinator *coordinator, enum phase phase);

/* Handles a message from end `from`. Returns 1 if it has handled it, 0 if it is not a message of
 * the phases, or -1 with a failure if the message is not valid here. */
int coordinator_message(struct coordinator *coordinator, enum end from, enum control_type type,
                        const json_t *body, struct problem *problem);
