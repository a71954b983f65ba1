/* SPDX-License-Identifier: MIT */
/* What a system says of its threads, and whether it is true. */
#include "unit.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "measure/cpu.h"

#define TIMES 20

static void read_own(struct cpu_reading *reading)
{
    static const struct cpu_meter nothing = {.fds = {-1, -1}};

    cpu_meter_begin(&nothing, reading);
}

/* Whoever runs when the system looks has run since it looked last: every 10 ms. */
static void read_ticks(struct cpu_reading *reading)
{
    *reading =
        (struct cpu_reading){.known = CPU_TIMES, .counts[CPU_USER] = clock_now_ns() / 10000000 * 10000000};
}

static void read_zeros(struct cpu_reading *reading)
{
    *reading = (struct cpu_reading){.known = CPU_TIMES | CPU_SWITCHES};
}

TEST(the_account_of_a_thread_moves_with_its_work_and_its_sleep)
{
    for (int i = 0; i < TIMES; i++)
        assert_int_equal(cpu_test_counts(read_own), CPU_TIMES | CPU_SWITCHES);
}

TEST(times_that_are_told_in_ticks_are_found_out)
{
    assert_false(cpu_test_counts(read_ticks) & CPU_TIMES);
}

TEST(zeros_are_no_account)
{
    assert_int_equal(cpu_test_counts(read_zeros), 0);
}

TEST(what_was_found_true_stays_in_the_record)
{
    struct cpu_reading before = {0}, after = {0};
    CLEANUP_JSON json_t *cpu = NULL, *process = NULL;

    cpu_probe();
    read_own(&before);
    read_own(&after);
    cpu = cpu_to_json(&before, &after);
    process = cpu_process_to_json();
    assert_non_null(json_object_get(cpu, "user_ns"));
    assert_non_null(json_object_get(cpu, "voluntary_switches"));
    assert_non_null(json_object_get(process, "user_ns"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_account_of_a_thread_moves_with_its_work_and_its_sleep),
        cmocka_unit_test(times_that_are_told_in_ticks_are_found_out),
        cmocka_unit_test(zeros_are_no_account),
        cmocka_unit_test(what_was_found_true_stays_in_the_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
