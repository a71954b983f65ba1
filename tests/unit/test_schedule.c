/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/clock.h"
#include "engine/event_loop.h"
#include "workload/roles.h"

#include <math.h>

static struct plan plan; /* of the last begin() */

static struct schedule begin(enum arrival arrival, uint64_t rate, uint64_t connections, uint64_t number)
{
    struct schedule schedule;

    plan = (struct plan){.rate = rate, .arrival = (int)arrival, .connections = connections};
    schedule_begin(&schedule, &plan, number);
    return schedule;
}

TEST(even_starts_of_all_connections_are_the_same_time_apart)
{
    bool seen[40] = {false};

    for (uint64_t number = 0; number < 4; number++) {
        struct schedule schedule = begin(ARRIVAL_EVEN, 1000, 4, number);

        for (int i = 0; i < 10; i++, schedule_advance(&schedule)) {
            uint64_t after = schedule.due_ns;

            assert_int_equal(after % NS_PER_MS, 0);
            assert_false(seen[after / NS_PER_MS]);
            seen[after / NS_PER_MS] = true;
        }
    }
    for (size_t i = 0; i < COUNT_OF(seen); i++)
        assert_true(seen[i]);
}

TEST(an_even_schedule_does_not_drift)
{
    /* a third of a second is no whole number of ns */
    struct schedule schedule = begin(ARRIVAL_EVEN, 3, 1, 0);

    for (int i = 0; i < 3 * 3600; i++)
        schedule_advance(&schedule);
    assert_int_equal(schedule.due_ns, 3600 * NS_PER_S);
}

/* Mean and variance of the pauses within five standard errors of those of the exponential
 * distribution. */
TEST(poisson_pauses_are_exponential)
{
    struct schedule schedule = begin(ARRIVAL_POISSON, 1000, 1, 7);
    uint64_t before = 0;
    double sum = 0, squares = 0;
    const int count = 200000;

    for (int i = 0; i < count; i++, schedule_advance(&schedule)) {
        double pause_ms = (double)(schedule.due_ns - before) / (double)NS_PER_MS;

        before = schedule.due_ns;
        sum += pause_ms;
        squares += pause_ms * pause_ms;
    }
    assert_true(fabs(sum / count - 1) < 5 / sqrt(count));
    assert_true(fabs(squares / count - 2) < 5 * sqrt(20) / sqrt(count)); /* E[x^4] - E[x^2]^2 = 24 - 4 */
}

static uint64_t first_due_ns(uint64_t seed, uint64_t number)
{
    struct schedule schedule;

    plan = (struct plan){.rate = 1000, .arrival = ARRIVAL_POISSON, .connections = 2, .arrival_seed = seed};
    schedule_begin(&schedule, &plan, number);
    return schedule.due_ns;
}

TEST(a_connection_draws_by_its_seed_and_not_as_its_neighbour)
{
    assert_int_equal(first_due_ns(0, 0), first_due_ns(0, 0));
    assert_int_equal(first_due_ns(7, 1), first_due_ns(7, 1));
    assert_true(first_due_ns(7, 0) != first_due_ns(7, 1));
}

TEST(each_seed_draws_arrivals_of_its_own)
{
    for (uint64_t seed = 0; seed < 100; seed++)
        for (uint64_t other = 0; other < seed; other++)
            for (uint64_t number = 0; number < 2; number++)
                assert_true(first_due_ns(seed, 0) != first_due_ns(other, number));
}

TEST(starts_up_to_a_deadline_are_counted_without_being_taken)
{
    struct schedule schedule = begin(ARRIVAL_EVEN, 1000, 1, 0);

    assert_int_equal(schedule_count_until(&schedule, 0), 0);
    assert_int_equal(schedule_count_until(&schedule, 1), 1);
    assert_int_equal(schedule_count_until(&schedule, 10 * NS_PER_MS), 10);
    assert_int_equal(schedule.due_ns, 0);
}

TEST(an_even_schedule_has_as_many_starts_as_rate_times_duration)
{
    static const uint64_t rates[] = {3, 7000, 70000, 99999};

    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        for (uint64_t connections = 1; connections <= 64; connections *= 4) {
            uint64_t count = 0;

            for (uint64_t number = 0; number < connections; number++) {
                struct schedule schedule = begin(ARRIVAL_EVEN, rates[i], connections, number);

                count += schedule_count_until(&schedule, NS_PER_S);
            }
            assert_int_equal(count, rates[i]);
        }
    }
}

/* Too many to draw one by one. Within six standard errors of the mean. */
TEST(a_billion_starts_a_second_up_to_a_deadline_in_an_hour_are_counted)
{
    const uint64_t hour_ns = 3600 * NS_PER_S; /* and as many starts */
    struct schedule schedule = begin(ARRIVAL_EVEN, 1000000000, 1, 0);

    assert_int_equal(schedule_count_until(&schedule, hour_ns), hour_ns);
    schedule = begin(ARRIVAL_POISSON, 1000000000, 1, 0);
    assert_true(fabs((double)schedule_count_until(&schedule, hour_ns) - (double)hour_ns) <
                6 * sqrt((double)hour_ns));
}

/* Mean and variance of a Poisson distribution of mean 20 000: both 20 000. */
TEST(many_poisson_starts_are_counted_as_if_each_were_drawn)
{
    double sum = 0, squares = 0;
    const int count = 4000;

    for (int i = 0; i < count; i++) {
        struct schedule schedule = begin(ARRIVAL_POISSON, 2000000, 100, (uint64_t)i);
        double off = (double)schedule_count_until(&schedule, NS_PER_S) - 20000;
        sum += off;
        squares += off * off;
    }
    assert_true(fabs(sum / count) < 5 * sqrt(20000.0 / count));
    assert_true(fabs(squares / count / 20000 - 1) < 5 * sqrt(2.0 / count));
}

TEST(timers_are_taken_earliest_first_and_none_before_it_is_due)
{
    static int who[1000];
    static struct timer list[COUNT_OF(who)];
    struct timers timers = {.list = list};
    uint64_t random = 1, last = 0;

    assert_null(timers_take(&timers, UINT64_MAX));
    for (size_t i = 0; i < COUNT_OF(who); i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        timers_add(&timers, 1 + random % 500, &who[i]);
    }
    assert_null(timers_take(&timers, 0));
    for (size_t i = 0; i < COUNT_OF(who); i++) {
        uint64_t due = timers_next(&timers);

        assert_true(due >= last);
        last = due;
        assert_null(timers_take(&timers, due - 1));
        int *taken = timers_take(&timers, due);
        assert_non_null(taken);
        assert_int_equal((*taken)++, 0);
    }
    assert_int_equal(timers_next(&timers), UINT64_MAX);
}
