/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "measure/samples.h"

#define START_NS (UINT64_C(1000) * NS_PER_S)

static struct samples samples;

static void restart(void)
{
    memset(&samples, 0, sizeof samples);
    samples_restart(&samples, START_NS);
}

/* A message of 10 bytes is done every `step` until `end`, both since the start. */
static void run(uint64_t step, uint64_t end)
{
    for (uint64_t ns = step; ns <= end; ns += step) {
        samples_count(&samples, 1, 10);
        samples_reached(&samples, START_NS + ns);
    }
}

struct unit_fixture unit_fixture = {.before = restart};

TEST(a_point_is_taken_at_the_first_message_after_it_is_due)
{
    run(30 * NS_PER_MS, 260 * NS_PER_MS);
    assert_int_equal(samples.count, 2);
    assert_int_equal(samples.points[0].ns, 120 * NS_PER_MS);
    assert_int_equal(samples.points[0].messages, 4);
    assert_int_equal(samples.points[0].bytes, 40);
    assert_int_equal(samples.points[1].ns, 210 * NS_PER_MS);
}

TEST(a_late_message_does_not_shift_the_points_behind_it)
{
    samples_reached(&samples, START_NS + 350 * NS_PER_MS);
    samples_reached(&samples, START_NS + 390 * NS_PER_MS);
    samples_reached(&samples, START_NS + 400 * NS_PER_MS);
    assert_int_equal(samples.count, 2);
    assert_int_equal(samples.points[1].ns, 400 * NS_PER_MS);
}

TEST(points_stand_at_multiples_of_the_interval_however_often_it_doubled)
{
    static const uint64_t seconds[] = {10, 59, 60, 61, 119, 120, 121, 240, 241, 1000, 3600};

    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        restart();
        run(SAMPLES_INTERVAL_NS, seconds[i] * NS_PER_S);
        assert_true(samples.count <= SAMPLES_MAX);
        for (uint32_t p = 0; p < samples.count; p++) {
            assert_int_equal(samples.points[p].ns, (p + 1) * samples.interval_ns);
            assert_int_equal(samples.points[p].messages, samples.points[p].ns / SAMPLES_INTERVAL_NS);
        }
        assert_true(samples.points[samples.count - 1].ns + samples.interval_ns > seconds[i] * NS_PER_S);
    }
}

TEST(every_second_point_is_dropped_when_they_are_full)
{
    run(SAMPLES_INTERVAL_NS, 59 * NS_PER_S);
    assert_int_equal(samples.interval_ns, SAMPLES_INTERVAL_NS);
    assert_int_equal(samples.count, 590);
    restart();
    run(SAMPLES_INTERVAL_NS, 61 * NS_PER_S);
    assert_int_equal(samples.interval_ns, 2 * SAMPLES_INTERVAL_NS);
    assert_int_equal(samples.count, 305);
    restart();
    run(SAMPLES_INTERVAL_NS, 300 * NS_PER_S);
    assert_int_equal(samples.interval_ns, 8 * SAMPLES_INTERVAL_NS);
}

TEST(a_restart_forgets_everything)
{
    run(SAMPLES_INTERVAL_NS, 61 * NS_PER_S);
    samples_restart(&samples, START_NS);
    assert_int_equal(samples.count, 0);
    assert_null(samples_to_json(&samples));
    run(SAMPLES_INTERVAL_NS, 2 * SAMPLES_INTERVAL_NS);
    assert_int_equal(samples.points[1].messages, 2);
    assert_int_equal(samples.interval_ns, SAMPLES_INTERVAL_NS);
}

static void count_point(void *context)
{
    ++*(int *)context;
}

TEST(a_function_is_called_at_every_point)
{
    int calls = 0;

    samples.on_point = count_point;
    samples.context = &calls;
    run(10 * NS_PER_MS, NS_PER_S);
    assert_int_equal(calls, 10);
}

TEST(json_lists_the_points)
{
    run(100 * NS_PER_MS, 200 * NS_PER_MS);
    CLEANUP_JSON json_t *json = samples_to_json(&samples);
    CLEANUP_JSON json_t *expected = json_pack("{s:i, s:[[i, i, i], [i, i, i]]}", "interval_ns", 100000000,
                                              "points", 100000000, 1, 10, 200000000, 2, 20);
    assert_true(json_equal(json, expected));
}
