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

void thread_leave(struct team_thread *thread);

/* By the thread itself: what it has used, as the last thing before its measured interval and the
 * first thing after it. */
void thread_begin(const struct team_thread *thread, struct thread_reading *reading);
void thread_end(const struct team_thread *thread, struct thread_reading *reading);

/* By the thread itself, outside of the interval: where and how it runs, which takes system calls.
 * */
void thread_look(struct thread_reading *reading);

/* Adds what the system tells of a thread at both ends of its interval, but its CPU time, to its object in the
 * record: `cpus`, `sched`. */
void thread_report(json_t *object, const struct team_thread *thread, const struct thread_reading *before,
                   const struct thread_reading *after);

#endif
