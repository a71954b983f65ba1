/* SPDX-License-Identifier: MIT */
/* Before the first phase: what a thread's connections need to be encrypted. */
#ifndef UNCORK_TEAM_HANDSHAKES_H
#define UNCORK_TEAM_HANDSHAKES_H

#include "team/team.h"

/* The contexts of a worker's connections, which are open; and the handshakes of those that have descriptors,
 * one after the other in the order of their numbers, as the other end does. Nothing where the plan does not
 * encrypt. 0, or -1 with a failure that says which other end did not do its part. */
int handshakes_make(struct worker *worker, struct problem *problem);

#endif
