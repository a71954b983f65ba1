/* SPDX-License-Identifier: MIT */
/*
 * How the ends of a run go through the phases together: the same code on all, over control channels.
 *
 * The channels are a star with the client in its middle. What a driver has to know, that all who take what it
 * sends are ready for it, the client gathers: it hears of every other end and tells the server.
 */
#ifndef UNCORK_TEAM_CONDUCT_H
#define UNCORK_TEAM_CONDUCT_H

#include "control/channel.h"
#include "team/team.h"

struct conduct {
    struct team *team;
    struct channel
        *channels[END_COUNT];      /* to the ends with which this one talks; none: nothing to wait for */
    size_t stops_known[END_COUNT]; /* of a driver's connections */
    unsigned knowing[END_COUNT];   /* ends that know all of a driver's stops: bits 1 << end */
    unsigned marked;               /* ends that have taken their start figures */
    unsigned joined;               /* ends whose connections are all there */
};

/* The channel to an end is open (NULL: not any more). */
void conduct_listen(struct conduct *conduct, enum end end, struct channel *channel);

/* The threads run and the other ends' too (or there are none). */
void conduct_start(struct conduct *conduct);

/* The team has reached a stage. */
void conduct_reached(struct conduct *conduct, enum stage stage);

/* A message of the phases, from this end. 1 if it was one, 0 if not, -1 with a failure if it makes no sense
 * here. */
int conduct_message(struct conduct *conduct, enum end from, enum control_type type, const json_t *body,
                    struct problem *problem);

#endif
