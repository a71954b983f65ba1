/* SPDX-License-Identifier: MIT */
/*
 * The second thread of a worker under handoff=thread: it sends what the first has made (engine/handover.h).
 *
 * The first starts it before its first phase, orders it to look at its figures, and ends it before it has
 * ended itself. So nobody else knows of it, and a run that fails needs nothing for it: the shutdown of the
 * descriptors wakes it too.
 */
#ifndef UNCORK_TEAM_SENDER_H
#define UNCORK_TEAM_SENDER_H

#include "engine/handover.h"
#include "team/thread.h"

struct sender {
    struct team_thread own;
    const struct end_plan *plan;
    struct handover handover;
    struct thread_reading before, after; /* of the interval; whole after sender_end_time() */
    struct problem problem;              /* why it could not settle */
};

/* Starts the sender of a connection, pinned to `cpu` (-1: free), and waits until it has settled. 0, or -1
 * with a problem; sender_end() it in both cases. */
int sender_start(struct sender *sender, struct connection *connection, int cpu, struct problem *problem);

/* The measured interval begins, or has ended: the sender reads its own figures. It must have been
 * given back. Its account includes one more sleep and waking than it had requests: the order to
 * end. */
void sender_begin_time(struct sender *sender);
void sender_end_time(struct sender *sender);

/* Waits for what it was given last, and ends it. Nothing for one that was never started. */
void sender_end(struct sender *sender);

#endif
