/* SPDX-License-Identifier: MIT */
/* The second thread of a worker with handoff=thread: sends what the first one made
 * (engine/handover.h). The worker starts it before its first phase, orders it to read its figures,
 * and ends it before its own end. So no other thread knows of it. A failed run needs no code for
 * it: shutdown(2) of the descriptors wakes it too. */
#ifndef UNCORK_TEAM_SENDER_H
#define UNCORK_TEAM_SENDER_H

#include "engine/handover.h"
#include "team/thread.h"

struct sender {
    struct team_thread own;
    const struct end_plan *plan;
    struct handover handover;
    struct thread_reading before, after; /* of the interval; complete after HANDOVER_END_TIME */
    struct problem problem;              /* why thread_settle() failed */
};

/* Starts the sender of a connection, pinned to `cpu` (-1: free), and waits for its thread_settle().
 * Returns 0, or -1 with a problem; call sender_end() in both cases. */
int sender_start(struct sender *sender, struct connection *connection, int cpu, struct problem *problem);

/* HANDOVER_BEGIN_TIME, HANDOVER_END_TIME: the sender reads its own figures. The sender must be
 * idle. Its account includes one sleep and one wakeup more than its requests: for the order to
 * end. */
void sender_carry_out(struct sender *sender, enum handover_order order);

/* Waits for the last request and ends the thread. Does nothing if it was never started. */
void sender_end(struct sender *sender);

#endif
