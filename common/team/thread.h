/* SPDX-License-Identifier: MIT */
/* A thread of a team: its CPU, its scheduling, its cost. Only the thread itself can read them. */
#pragma once

#include "engine/engine.h"
#include "measure/cpu.h"
#include "plan/plan.h"

#include <uv.h>

struct team_thread {
    uv_thread_t handle;
    bool started;
    int pinned_to; /* CPU; -1: not pinned */
    struct cpu_meter meter;
};

struct thread_reading {
    struct cpu_reading cpu;
    int cpu_number; /* CPU it runs on; -1: unknown */
    bool scheduling_known;
    struct scheduling scheduling;
};

/* Called by the thread: pins it to its CPU, sets its scheduling class. Returns 0, or -1 with an
 * unsupported problem. */
int thread_set_up(struct team_thread *thread, const struct end_plan *own, struct problem *problem);

/* Called by the thread: reads where and how it runs. Call it outside of the interval, because it
 * makes system calls. */
void thread_read_state(struct thread_reading *reading);

/* The second thread of a worker with handoff=thread: sends the requests that the data thread makes
 * (engine/handover.h). The worker starts the sender before its first phase, orders it to read its
 * figures, and ends it before its own end. So no other thread knows of the sender. A cancelled run
 * needs no extra code: shutdown(2) of the descriptors also wakes the sender. */
struct sender {
    struct team_thread own;
    struct handover handover;
    struct thread_reading before, after; /* of the interval; complete after HANDOVER_END_TIME */
    struct problem problem;              /* why thread_set_up() failed */
};

/* Starts the sender of a connection, pinned to `cpu` (-1: free), and waits for its thread_set_up().
 * Returns 0, or -1 with a problem; call sender_end() in both cases. */
int sender_start(struct sender *sender, struct connection *connection, int cpu, struct problem *problem);

/* Orders the sender to read its own figures, and waits until it has: HANDOVER_BEGIN_TIME or
 * HANDOVER_END_TIME. The sender must be idle. Its account includes one sleep and one wake-up more
 * than its requests: for HANDOVER_END_TIME. */
void sender_execute(struct sender *sender, enum handover_order order);

/* Waits for the last request and ends the thread. Does nothing if it was never started. */
void sender_end(struct sender *sender);
