/* SPDX-License-Identifier: MIT */
/* TLS contexts and handshakes of a worker's connections, before the first phase. */
#ifndef UNCORK_TEAM_HANDSHAKES_H
#define UNCORK_TEAM_HANDSHAKES_H

#include "team/team.h"

/* Makes the contexts of a worker's open connections. Then makes the handshakes of those that have
 * descriptors, in the order of their numbers, as the other end does. Does nothing if the plan does
 * not encrypt. Returns 0, or -1 with a failure that names the end at fault. */
int handshakes_make(struct worker *worker, struct problem *problem);

#endif
