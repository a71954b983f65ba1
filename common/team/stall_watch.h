/* SPDX-License-Identifier: MIT */
/* Cancels a team whose threads are stuck: in a handshake, or with no byte moved for seconds. */
#ifndef UNCORK_TEAM_STALL_WATCH_H
#define UNCORK_TEAM_STALL_WATCH_H

#include "team/team.h"

/* Starts the timer team->watch. It checks handshakes, and after PHASE_START also bytes. */
void stall_watch_start(struct team *team);

/* Restarts the time after which a team that moves no byte has stalled. */
void stall_watch_restart(struct team *team);

#endif
