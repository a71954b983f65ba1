/* SPDX-License-Identifier: MIT */
#include "workload/schedule.h"

#include "base/clock.h"

#include <math.h>

/* splitmix64 (Steele, Lea, Flood 2014); any seed is good. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Uniform in (0, 1], with 53 bits. */
static double draw_part(uint64_t *state)
{
    return ((double)(draw(state) >> 11) + 1) / 9007199254740992.0;
}

/* An exponential interval of mean 1, by inversion of the distribution function. */
static double draw_pause(uint64_t *state)
{
    return -log(draw_part(state));
}

/* In integers: the rounding error of a sum of fractions could move a start before a deadline. */
static uint64_t due_of_number(const struct schedule *schedule, uint64_t number)
{
    uint64_t rate = schedule->rate;

    return number / rate * NS_PER_S + number % rate * NS_PER_S / rate;
}

static double mean_pause_ns(const struct schedule *schedule)
{
    return (double)NS_PER_S / (double)schedule->rate * (double)schedule->connections;
}

static void move_by_pauses(struct schedule *schedule, double pauses)
{
    schedule->at_ns += pauses * mean_pause_ns(schedule);
    schedule->due_ns = (uint64_t)schedule->at_ns;
}

static void set_due(struct schedule *schedule)
{
    if (schedule->arrival == ARRIVAL_POISSON)
        move_by_pauses(schedule, draw_pause(&schedule->random));
    else
        schedule->due_ns = due_of_number(schedule, schedule->number);
}

void schedule_begin(struct schedule *schedule, const struct plan *plan, uint64_t number)
{
    uint64_t seed = plan->arrival_seed;

    *schedule = (struct schedule){.arrival = (enum arrival)plan->arrival,
                                  .rate = plan->rate,
                                  .connections = plan->connections,
                                  .number = number,
                                  .random = draw(&seed) + number};
    set_due(schedule);
}

void schedule_advance(struct schedule *schedule)
{
    schedule->number += schedule->connections;
    set_due(schedule);
}

/* ---- number of starts ---- */

/* Binary search for the number of the first start at or after the deadline. */
static uint64_t count_even(const struct schedule *schedule, uint64_t deadline_ns)
{
    uint64_t low = 0, high = 1;

    while (due_of_number(schedule, schedule->number + high * schedule->connections) < deadline_ns)
        high *= 2;
    while (low < high) {
        uint64_t middle = (low + high) / 2;

        if (due_of_number(schedule, schedule->number + middle * schedule->connections) < deadline_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The sum of `count` intervals of mean 1. `count` is large, so the sum is normal (Box, Muller
 * 1958). */
static double draw_pauses(struct schedule *schedule, double count)
{
    double radius = sqrt(2 * draw_pause(&schedule->random));

    return count + sqrt(count) * radius * cos(6.283185307179586 * draw_part(&schedule->random));
}

#define COUNTED_ONE_BY_ONE 10000

/* Skips most of the expected starts, and returns how many. 0: they are few enough to count. */
static uint64_t skip_most(struct schedule *schedule, uint64_t deadline_ns)
{
    double expected, skipped;

    if (schedule->due_ns >= deadline_ns)
        return 0;
    expected = (double)(deadline_ns - schedule->due_ns) / mean_pause_ns(schedule);
    if (expected < COUNTED_ONE_BY_ONE)
        return 0;
    skipped = floor(expected - 6 * sqrt(expected));
    move_by_pauses(schedule, draw_pauses(schedule, skipped));
    return (uint64_t)skipped;
}

static uint64_t count_poisson(struct schedule rest, uint64_t deadline_ns)
{
    uint64_t count = 0, skipped;

    while ((skipped = skip_most(&rest, deadline_ns)))
        count += skipped;
    for (; rest.due_ns < deadline_ns; count++)
        schedule_advance(&rest);
    return count;
}

uint64_t schedule_count_until(const struct schedule *schedule, uint64_t deadline_ns)
{
    return schedule->arrival == ARRIVAL_POISSON ? count_poisson(*schedule, deadline_ns)
                                                : count_even(schedule, deadline_ns);
}
