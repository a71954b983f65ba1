/* SPDX-License-Identifier: MIT */
/* When the requests of one connection are due in an open loop, independent of earlier requests.
 *
 * The schedules of all connections together have `rate` starts a second. `even`: all starts of the
 * run are equally spaced, and the connections take them in turn. `poisson`: each connection draws
 * exponential intervals, because independent Poisson processes add up to one. The draws depend only
 * on the arrival_seed of the plan and the number of the connection. So cells with the same seed
 * have the same arrivals. */
#pragma once

#include "plan/plan.h"

#include <stdint.h>

struct schedule {
    enum arrival arrival;
    uint64_t rate, connections;
    uint64_t due_ns; /* next start, from the beginning of the phase */
    uint64_t number; /* even: number of the next start, among those of all connections */
    double at_ns;    /* poisson: next start, before rounding down */
    uint64_t random;
};

/* Begins the schedule of connection `number`. The plan must have a rate. */
void schedule_begin(struct schedule *schedule, const struct plan *plan, uint64_t number);

/* Call when the start at due_ns is used: moves to the next start. */
void schedule_advance(struct schedule *schedule);

/* Returns the number of starts from due_ns on that come before `deadline_ns`. */
uint64_t schedule_count_until(const struct schedule *schedule, uint64_t deadline_ns);
