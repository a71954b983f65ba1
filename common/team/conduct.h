/* SPDX-License-Identifier: MIT */
/* How the two ends of a run go through the phases together: the same code on both, over the control channel.
 */
#ifndef UNCORK_TEAM_CONDUCT_H
#define UNCORK_TEAM_CONDUCT_H

#include "control/channel.h"
#include "team/team.h"

struct conduct {
    struct team *team;
    struct channel *channel; /* NULL: there is no other end, nothing to wait for */
    size_t stops_known;
};

/* The threads run and the other end's too (or there is none). */
void conduct_start(struct conduct *conduct);

/* The team has reached a stage. */
void conduct_reached(struct conduct *conduct, enum stage stage);

/* A message of the phases. 1 if it was one, 0 if not, -1 with a failure if it makes no sense here. */
int conduct_message(struct conduct *conduct, enum control_type type, const json_t *body,
                    struct problem *problem);

#endif
