/* SPDX-License-Identifier: MIT */
#include "workload/roles.h"

#include "base/clock.h"

#include <math.h>

/* splitmix64 (Steele, Lea, Flood 2014). It needs no special seed. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Uniform in (0, 1], with 53 bits. */
static double draw_uniform(uint64_t *state)
{
    return ((double)(draw(state) >> 11) + 1) / 9007199254740992.0;
}

/* An exponential interval of mean 1, by inversion of the distribution function. */
static double draw_exponential(uint64_t *state)
{
    return -log(draw_uniform(state));
}

static double mean_interval_ns(const struct schedule *schedule)
{
    return (double)NS_PER_S / (double)schedule->plan->rate * (double)schedule->plan->connections;
}

/* Even starts in integers: the rounding errors of a sum could move one before a deadline. */
static void set_due(struct schedule *schedule)
{
    uint64_t number = schedule->number, rate = schedule->plan->rate;
    if (schedule->plan->arrival == ARRIVAL_POISSON) {
        schedule->at_ns += draw_exponential(&schedule->random) * mean_interval_ns(schedule);
        schedule->due_ns = (uint64_t)schedule->at_ns;
    } else {
        schedule->due_ns = number / rate * NS_PER_S + number % rate * NS_PER_S / rate;
    }
}

void schedule_begin(struct schedule *schedule, const struct plan *plan, uint64_t number)
{
    uint64_t seed = plan->arrival_seed;
    *schedule = (struct schedule){.plan = plan, .number = number, .random = draw(&seed) + number};
    set_due(schedule);
}

void schedule_advance(struct schedule *schedule)
{
    schedule->number += schedule->plan->connections;
    set_due(schedule);
}

#define COUNTED_ONE_BY_ONE 10000

/* poisson: the number of starts in a time has a Poisson distribution. For large numbers it is
 * nearly normal, and drawn as Box and Muller 1958 do. */
uint64_t schedule_count_until(const struct schedule *schedule, uint64_t deadline_ns)
{
    struct schedule rest = *schedule;
    uint64_t rate = rest.plan->rate, rest_ns = deadline_ns % NS_PER_S, count = 0;
    /* even: the first number, among those of all connections, that is not before the deadline */
    uint64_t first = deadline_ns / NS_PER_S * rate + (rest_ns * rate + NS_PER_S - 1) / NS_PER_S;

    if (rest.plan->arrival != ARRIVAL_POISSON)
        return first > rest.number ? (first - rest.number - 1) / rest.plan->connections + 1 : 0;
    double expected = ((double)deadline_ns - (double)rest.due_ns) / mean_interval_ns(&rest);
    if (expected > COUNTED_ONE_BY_ONE) {
        double radius = sqrt(2 * draw_exponential(&rest.random));
        double normal = radius * cos(6.283185307179586 * draw_uniform(&rest.random));
        return 1 + (uint64_t)llround(expected + sqrt(expected) * normal);
    }
    for (; rest.due_ns < deadline_ns; count++)
        schedule_advance(&rest);
    return count;
}
