/* SPDX-License-Identifier: MIT */
/*
 * Whether a thread that is pinned to a CPU runs there. A system may accept the pinning and report
 * that CPU, and run the thread anywhere. So a test observes the effect. Where the test shows
 * nothing either way, pinning counts as working. So load on the machine cannot make a pinning that
 * works look useless.
 */
#ifndef UNCORK_PLACEMENT_AFFINITY_H
#define UNCORK_PLACEMENT_AFFINITY_H

#include <stdbool.h>
#include <stdint.h>

/* Pins the calling thread. 0 or a negative errno value. */
typedef int pin_function(int cpu);

/* Whether pinning works. The first call runs the test: some thread switches, and up to a second
 * where pinning looks useless. Do not call it first from a thread that measures. True where there
 * is only one CPU. */
bool affinity_works(void);

/* Pins a thread to `a`, `b`, `a` and so on, and reads each time from the processor, not from the
 * system, where it runs. */
enum affinity_trace {
    AFFINITY_FOLLOWED, /* two processors in turn: pinning works */
    AFFINITY_IGNORED,  /* not always the same processor for the same CPU: pinning has no effect */
    AFFINITY_DOUBTED,  /* always the same processor, or pinning failed */
    AFFINITY_UNKNOWN,  /* a program cannot read the number of the processor */
};
enum affinity_trace affinity_follow(pin_function *pin, int a, int b);

/* Whether two threads that are pinned to `cpu` ran at the same time, within `patience_ns`: then
 * pinning has no effect. */
bool affinity_is_ignored(pin_function *pin, int cpu, uint64_t patience_ns);

#endif
