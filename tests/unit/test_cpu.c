/* SPDX-License-Identifier: MIT */
/* The counts that a system reports of a thread, and the test whether they are true. */
#include "unit.h"

#include "base/clock.h"
#include "measure/cpu.h"

#define TIMES 20

static void read_own(struct cpu_reading *reading)
{
    static const struct cpu_meter nothing = {.fds = {-1, -1}};

    cpu_meter_begin(&nothing, reading);
}

/* A system that samples every 10 ms and gives the whole tick to the thread that runs then. */
static void read_ticks(struct cpu_reading *reading)
{
    *reading =
        (struct cpu_reading){.known = CPU_TIMES, .counts[CPU_USER] = clock_now_ns() / 10000000 * 10000000};
}

static void read_zeros(struct cpu_reading *reading)
{
    *reading = (struct cpu_reading){.known = CPU_TIMES | CPU_SWITCHES};
}

TEST(times_grow_with_work_and_switches_with_sleep)
{
    for (int i = 0; i < TIMES; i++)
        assert_int_equal(cpu_test_counts(read_own), CPU_TIMES | CPU_SWITCHES);
}

TEST(times_that_are_counted_in_ticks_are_rejected)
{
    assert_false(cpu_test_counts(read_ticks) & CPU_TIMES);
}

TEST(zeros_are_rejected)
{
    assert_int_equal(cpu_test_counts(read_zeros), 0);
}

TEST(true_counts_stay_in_the_record)
{
    struct cpu_reading before = {0}, after = {0};

    cpu_probe();
    read_own(&before);
    read_own(&after);
    CLEANUP_JSON json_t *cpu = cpu_to_json(&before, &after);
    CLEANUP_JSON json_t *process = cpu_process_to_json();
    assert_non_null(json_object_get(cpu, "user_ns"));
    assert_non_null(json_object_get(cpu, "voluntary_switches"));
    assert_non_null(json_object_get(process, "user_ns"));
}
