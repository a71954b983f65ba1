/* SPDX-License-Identifier: MIT */
/*
 * When the requests of one connection are due in an open loop: whatever happened to the ones before.
 *
 * The schedules of all connections together make `rate` requests a second. `even`: the starts of
 * the whole run are the same time apart, dealt to the connections in turn. `poisson`: each
 * connection draws exponential pauses, and independent Poisson processes add up to one. The draws
 * depend on the plan's arrival_seed and the connection's number only, so that cells that have the
 * same seed meet the same arrivals.
 */
#ifndef UNCORK_WORKLOAD_SCHEDULE_H
#define UNCORK_WORKLOAD_SCHEDULE_H

#include "plan/plan.h"

#include <stdint.h>

struct schedule {
    enum arrival arrival;
    uint64_t rate, connections;
    uint64_t due_ns; /* the next start, from the beginning of the phase */
    uint64_t number; /* even: of the next start, among those of all connections */
    double at_ns;    /* poisson: the next start, before it is cut to whole numbers */
    uint64_t random;
};

/* The schedule of connection `number` of the plan's. The plan has a rate. */
void schedule_begin(struct schedule *schedule, const struct plan *plan, uint64_t number);

/* The start that was due at due_ns is taken: moves to the next. */
void schedule_advance(struct schedule *schedule);

/* How many starts from due_ns on come before `deadline_ns`. */
uint64_t schedule_count_until(const struct schedule *schedule, uint64_t deadline_ns);

#endif
