/* SPDX-License-Identifier: MIT */
/* Leads the ends of a run through the phases together, over control channels: a star whose hub is
 * at the client. Every end has a coordinator. It sends the messages of its team to the hub, and
 * releases its team when the hub says so. The hub collects the messages of all ends, those of its
 * own end too. It releases a driver when all its receivers are ready. */
#pragma once

#include "control/channel.h"
#include "team/team.h"

struct hub {
    struct coordinator *own;                  /* of the client */
    struct channel *channels[END_COUNT];      /* by end; NULL: no such end, or the client itself */
    unsigned ready[RELEASE_NEVER][END_COUNT]; /* ends by release and driver: bits 1 << end */
    unsigned joined;                          /* ends that have all their connections */
    unsigned marked;                          /* ends that have their start figures */
};

struct coordinator {
    struct team *team;
    struct channel *channel; /* to the hub; NULL at the client */
    struct hub *hub;         /* at the client; NULL there too: the run has no other end */
};

/* Call when the team has passed a phase. Sends the message of that phase in phases.def, except the
 * report. */
void coordinator_passed(struct coordinator *coordinator, enum phase phase);

/* Handles a message of the hub: DRAIN, DRAINING or MARKED. 0, or -1: it does not fit the plan. */
int coordinator_message(struct coordinator *coordinator, enum control_type type, const json_t *body);

/* Handles a message of an end: JOINED, DRAIN, DRAINING or MARKED. 0, or -1: it does not fit the
 * plan. */
int hub_message(struct hub *hub, enum end from, enum control_type type, const json_t *body);
