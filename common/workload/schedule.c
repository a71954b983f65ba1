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

/* In whole numbers: a sum of fractions would sooner or later come before a deadline that it falls on. */
static void move_to_number(struct schedule *schedule, uint64_t number)
{
    uint64_t rate = schedule->rate;

    schedule->number = number;
    schedule->due_ns = schedule->origin_ns + number / rate * NS_PER_S + number % rate * NS_PER_S / rate;
}

static void move_by_pause(struct schedule *schedule)
{
    double pause_ns = (double)NS_PER_S / (double)schedule->rate * (double)schedule->connections;

    schedule->at_ns += draw_pause(&schedule->random) * pause_ns;
    schedule->due_ns = schedule->origin_ns + (uint64_t)schedule->at_ns;
}

void schedule_begin(struct schedule *schedule, const struct plan *plan, uint64_t number, uint64_t origin_ns)
{
    *schedule = (struct schedule){.arrival = (enum arrival)plan->arrival,
                                  .rate = plan->rate,
                                  .connections = plan->connections,
                                  .origin_ns = origin_ns,
                                  .random = number};
    if (schedule->arrival == ARRIVAL_POISSON)
        move_by_pause(schedule);
    else
        move_to_number(schedule, number);
}

void schedule_advance(struct schedule *schedule)
{
    if (schedule->arrival == ARRIVAL_POISSON)
        move_by_pause(schedule);
    else
        move_to_number(schedule, schedule->number + schedule->connections);
}

uint64_t schedule_count_until(const struct schedule *schedule, uint64_t deadline_ns)
{
    struct schedule rest = *schedule;
    uint64_t count = 0;

    for (; rest.due_ns < deadline_ns; count++)
        schedule_advance(&rest);
    return count;
}
