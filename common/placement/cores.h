/* SPDX-License-Identifier: MIT */
/* The CPUs that this process may use, ordered by core: SMT siblings are neighbours. */
#ifndef UNCORK_PLACEMENT_CORES_H
#define UNCORK_PLACEMENT_CORES_H

#include "placement/place.h"

#include <stdbool.h>

#define CORES_CPUS_MAX 1024

struct cores {
    int count;                     /* cores */
    int cpu_count;                 /* CPUs */
    int cpus[CORES_CPUS_MAX];      /* by core, then by number */
    int first[CORES_CPUS_MAX + 1]; /* core i has cpus[first[i]] to cpus[first[i + 1] - 1] */
};

/* 0, or a negative errno value where the system does not report them (-ENOSYS: it has no
 * affinity). */
int cores_read(struct cores *cores);

bool cores_allow(const struct cores *cores, int cpu);

/* The CPUs of cores `from` to `to` - 1: first one CPU of each core, then their siblings. */
void cores_take(const struct cores *cores, int from, int to, struct place_list *cpus);

/* Pins the calling thread. 0 only if the system then reports that it runs there; else a negative
 * errno value. placement/affinity.h tests whether the report is true. */
int cores_pin_thread(int cpu);

/* The CPU on which the calling thread runs, as the system reports it; -1 where it does not. */
int cores_current(void);

#endif
