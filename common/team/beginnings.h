/* SPDX-License-Identifier: MIT */
#ifndef UNCORK_TEAM_BEGINNINGS_H
#define UNCORK_TEAM_BEGINNINGS_H

#include "capture/tally.h"
#include "team/team.h"

/* Client, after PHASE_REPORT without a failure: tells the tally where the measured interval of each
 * connection started. Returns 0, or -1 with a problem. */
int beginnings_tell(const struct team *team, struct tally *tally, struct problem *problem);

#endif
