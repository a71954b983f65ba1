/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "measure/histogram.h"

#include <math.h>

#define VALUES 20000

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static struct histogram histogram;

static void restart(void)
{
    histogram_reset(&histogram);
}

struct unit_fixture unit_fixture = {.before = restart};

/* ---- shapes of samples, in ns ---- */

typedef double sampler(struct dice *dice);

static double uniform(struct dice *dice)
{
    return 1e3 + 1e6 * dice_share(dice);
}

static double exponential(struct dice *dice)
{
    return -5e4 * log(1 - dice_share(dice));
}

/* Box and Muller (1958). */
static double lognormal(struct dice *dice)
{
    double normal = sqrt(-2 * log(1 - dice_share(dice))) * cos(2 * 3.14159265358979 * dice_share(dice));

    return exp(10 + 2 * normal);
}

static double bimodal(struct dice *dice)
{
    return dice_roll(dice, 10) ? 8e3 + 1e3 * dice_share(dice) : 4e7 + 1e6 * dice_share(dice);
}

static double constant(struct dice *dice)
{
    return 123456789;
}

static double tiny(struct dice *dice)
{
    return 200 * dice_share(dice);
}

/* Minutes to beyond the hour of the longest run. */
static double hours(struct dice *dice)
{
    return 4e12 * dice_share(dice);
}

static sampler *const shapes[] = {uniform, exponential, lognormal, bimodal, constant, tiny, hours};

static void roll_values(struct dice *dice, sampler *sample, uint64_t values[VALUES])
{
    restart();
    for (size_t i = 0; i < VALUES; i++) {
        values[i] = (uint64_t)sample(dice);
        histogram_record(&histogram, values[i]);
    }
}

TEST(the_value_of_a_rank_lies_within_0_8_percent_of_the_exact_one)
{
    static const size_t ranks[] = {1, 20, 200, 2000, 5000, 10000, 15000, 18000, 19800, 19999, VALUES};
    static uint64_t values[VALUES];
    struct dice dice = {.state = 5};

    for (size_t s = 0; s < COUNT_OF(shapes); s++) {
        roll_values(&dice, shapes[s], values);
        qsort(values, VALUES, sizeof *values, compare);
        for (size_t i = 0; i < COUNT_OF(ranks); i++) {
            double exact = (double)values[ranks[i] - 1], found = histogram_value(&histogram, ranks[i]);

            if (fabs(found - exact) > 0.008 * exact + 0.5)
                fail_msg("shape %zu: rank %zu has %g, not %g", s, ranks[i], found, exact);
        }
        assert_int_equal(histogram.minimum, values[0]);
        assert_int_equal(histogram.maximum, values[VALUES - 1]);
    }
}

TEST(a_small_histogram_has_ranks_too)
{
    histogram_record(&histogram, 1000003);
    assert_true(histogram_value(&histogram, 1) == 1000003);
    histogram_record(&histogram, 7);
    assert_true(histogram_value(&histogram, 1) == 7);
    assert_true(histogram_value(&histogram, 2) == 1000003);
}

TEST(a_reset_histogram_is_empty)
{
    static struct histogram empty;

    histogram_reset(&empty);
    for (unsigned power = 0; power < 64; power++)
        histogram_record(&histogram, UINT64_C(1) << power);
    histogram_reset(&histogram);
    assert_memory_equal(&histogram, &empty, sizeof empty);
}

TEST(the_bins_tile_all_numbers_without_gap)
{
    uint32_t top = HISTOGRAM_BINS - 1;

    assert_int_equal(histogram_low(0), 0);
    for (uint32_t bin = 0; bin < top; bin++)
        assert_int_equal(histogram_low(bin) + histogram_width(bin), histogram_low(bin + 1));
    assert_int_equal(histogram_low(top) + (histogram_width(top) - 1), UINT64_MAX);
}

TEST(a_bin_holds_its_first_and_its_last_value)
{
    for (uint32_t bin = 0; bin < HISTOGRAM_BINS; bin++) {
        uint64_t low = histogram_low(bin), width = histogram_width(bin);

        assert_int_equal(histogram_bin(low), bin);
        assert_int_equal(histogram_bin(low + (width - 1)), bin);
        assert_true(width <= low / 64 || width == 1);
    }
}

TEST(json_holds_the_counts_and_nothing_empty)
{
    CLEANUP_JSON json_t *json = NULL, *expected = NULL;

    assert_null(histogram_to_json(&histogram));
    histogram_record(&histogram, 5);
    histogram_record(&histogram, 5);
    histogram_record(&histogram, 257); /* in [256, 260) */
    json = histogram_to_json(&histogram);
    expected = json_pack("{s:s, s:i, s:i, s:i, s:i, s:[[i, i, i], [i, i, i]]}", "unit", "ns", "count", 3,
                         "minimum", 5, "maximum", 257, "sum", 267, "bins", 5, 1, 2, 256, 4, 1);
    assert_true(json_equal(json, expected));
}
