/* SPDX-License-Identifier: MIT */
#include "workload/schedule.h"

#include "base/clock.h"

#include <math.h>

/* splitmix64 (Steele, Lea, Flood 2014): any seed serves. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A pause of mean 1 by the inverse of the exponential distribution; 53 bits, never the logarithm of 0. */
static double draw_pause(uint64_t *state)
{
    return -log(((double)(draw(state) >> 11) + 1) / 9007199254740992.0);
}

static void move_to(struct schedule *schedule, double at_ns)
{
    schedule->at_ns = at_ns;
    schedule->due_ns = schedule->origin_ns + (uint64_t)at_ns;
}

void schedule_begin(struct schedule *schedule, const struct plan *plan, uint64_t number, uint64_t origin_ns)
{
    double spacing_ns = (double)NS_PER_S / (double)plan->rate;

    *schedule = (struct schedule){.arrival = (enum arrival)plan->arrival,
                                  .pause_ns = spacing_ns * (double)plan->connections,
                                  .origin_ns = origin_ns,
                                  .random = number};
    if (schedule->arrival == ARRIVAL_POISSON)
        schedule_advance(schedule);
    else
        move_to(schedule, spacing_ns * (double)number);
}

void schedule_advance(struct schedule *schedule)
{
    double pauses = schedule->arrival == ARRIVAL_POISSON ? draw_pause(&schedule->random) : 1;

    move_to(schedule, schedule->at_ns + pauses * schedule->pause_ns);
}

uint64_t schedule_count_until(const struct schedule *schedule, uint64_t deadline_ns)
{
    struct schedule rest = *schedule;
    uint64_t count = 0;

    for (; rest.due_ns < deadline_ns; count++)
        schedule_advance(&rest);
    return count;
}
