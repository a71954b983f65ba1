/* SPDX-License-Identifier: MIT */
/* The CPUs that this process may use, ordered by core, so that SMT siblings stand side by side. */
#ifndef UNCORK_PLAN_CORES_H
#define UNCORK_PLAN_CORES_H

#include "plan/place.h"

#include <stdbool.h>

#define CORES_CPUS_MAX 1024

struct cores {
    int count;                     /* cores */
    int cpu_count;                 /* CPUs */
    int cpus[CORES_CPUS_MAX];      /* by core, then by number */
    int first[CORES_CPUS_MAX + 1]; /* core i has cpus[first[i]] up to before cpus[first[i + 1]] */
};

/* 0, or a negative errno value where the system does not tell (-ENOSYS: it has no affinity). */
int cores_read(struct cores *cores);

bool cores_allow(const struct cores *cores, int cpu);

/* The CPUs of cores `from` up to before `to`: first one of each core, then their siblings. */
void cores_take(const struct cores *cores, int from, int to, struct place_list *cpus);

/* Pins the calling thread. 0 only if the system says that it runs there now; else a negative errno value.
 * Whether that is true: plan/affinity.h. */
int cores_pin_thread(int cpu);

/* The CPU on which the system says that the calling thread runs, -1 where it does not tell. */
int cores_current(void);

#endif
