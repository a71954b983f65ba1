/* SPDX-License-Identifier: MIT */
/* A thread of a team: its CPU, its scheduling, its cost. Only the thread itself can read these. */
#ifndef UNCORK_TEAM_THREAD_H
#define UNCORK_TEAM_THREAD_H

#include "measure/cpu.h"
#include "plan/plan.h"

#include <jansson.h>
#include <uv.h>

struct team_thread {
    uv_thread_t handle;
    bool started;
    int pinned_to; /* CPU, -1: free */
    struct cpu_meter meter;
};

struct thread_reading {
    struct cpu_reading cpu;
    int cpu_number; /* CPU it runs on; -1: unknown */
    bool scheduling_known;
    struct scheduling scheduling;
};

/* Called by the thread: opens its counters, moves to its CPU, sets its scheduling class. Returns 0,
 * or -1 with an unsupported problem; call cpu_meter_close() in both cases. */
int thread_settle(struct team_thread *thread, const struct end_plan *own, struct problem *problem);

/* Called by the thread, outside of the interval because it makes system calls: reads where and how
 * the thread runs. */
void thread_look(struct thread_reading *reading);

/* Adds `cpus` and `sched` to the thread's object in the record, from both ends of its interval. */
void thread_report(json_t *object, const struct team_thread *thread, const struct thread_reading *before,
                   const struct thread_reading *after);

#endif
