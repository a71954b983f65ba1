/* SPDX-License-Identifier: MIT */
/* A thread of a team: where it runs, how it is scheduled and what it costs, which only it can find out. */
#ifndef UNCORK_TEAM_THREAD_H
#define UNCORK_TEAM_THREAD_H

#include "measure/cpu.h"
#include "plan/plan.h"

#include <uv.h>

struct team_thread {
    uv_thread_t handle;
    bool started;
    int pinned_to; /* CPU, -1: free */
    struct cpu_meter meter;
};

struct thread_reading {
    struct cpu_reading cpu;
    int cpu_number; /* where it runs, -1 where the system does not tell */
    bool scheduling_known;
    struct scheduling scheduling;
};

/* By the thread itself, which need not have been able to: opens its counters, goes to its CPU, takes its
 * scheduling class. 0, or -1 with an unsupported problem; thread_leave() in both cases. */
int thread_settle(struct team_thread *thread, const struct end_plan *own, struct problem *problem);

/* By the thread itself. */
void thread_read(const struct team_thread *thread, struct thread_reading *reading);
void thread_leave(struct team_thread *thread);

/* Adds what the system tells of a thread at both ends of its interval, but its CPU time, to its object in the
 * record: `cpus`, `sched`. */
void thread_report(json_t *object, const struct team_thread *thread, const struct thread_reading *before,
                   const struct thread_reading *after);

#endif
