/* SPDX-License-Identifier: MIT */
/* How a worker establishes its connections in PHASE_START: connect, hello, handshake. */
#ifndef UNCORK_TEAM_ESTABLISH_H
#define UNCORK_TEAM_ESTABLISH_H

#include "team/team.h"

/* Connects the sockets that this end connects, and sends the token on them. Sets and checks the
 * options of all sockets. Returns 0, or -1 with a problem. */
int establish_connect(struct worker *worker, struct problem *problem);

/* Makes the TLS contexts of a worker's open connections. Then makes the handshakes of those that
 * have descriptors, in the order of their numbers, as the other end does. Does nothing if the plan
 * does not encrypt. Returns 0, or -1 with a failure that names the end at fault. */
int establish_handshakes(struct worker *worker, struct problem *problem);

#endif
