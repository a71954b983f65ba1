/* SPDX-License-Identifier: MIT */
/*
 * Whether a thread that is pinned to a CPU runs there. A system may say yes, name that CPU when it is asked,
 * and run the thread anywhere: so it is found out by effect. Where nothing has been seen either way pinning
 * is believed, so that no load of a machine can make a pinning look useless that works.
 */
#ifndef UNCORK_PLAN_AFFINITY_H
#define UNCORK_PLAN_AFFINITY_H

#include <stdbool.h>
#include <stdint.h>

/* Pins the calling thread. 0 or a negative errno value. */
typedef int pin_function(int cpu);

/* Found out when it is first asked, which takes some switches of threads, and up to a second where pinning
 * looks useless: not for a thread that measures. True where there is only one CPU: nobody can be anywhere
 * else. */
bool affinity_works(void);

/* Where does a thread that is pinned to `a`, `b`, `a` and so on find itself, by what the processor says of
 * itself and not the system? */
enum affinity_trace {
    AFFINITY_FOLLOWED, /* on two processors in turn: pinning works */
    AFFINITY_IGNORED,  /* not always on the same one when it was pinned to the same: pinning does nothing */
    AFFINITY_DOUBTED,  /* always on the same one, or it could not be pinned */
    AFFINITY_UNTOLD,   /* the processor has no number that a program may read */
};
enum affinity_trace affinity_follow(pin_function *pin, int a, int b);

/* Whether two threads that are pinned to `cpu` were seen to run at the same time, within
 * `patience_ns`: then pinning does nothing. */
bool affinity_is_ignored(pin_function *pin, int cpu, uint64_t patience_ns);

#endif
