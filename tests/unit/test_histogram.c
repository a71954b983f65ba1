/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "base/cleanup.h"
#include "measure/histogram.h"

#include <math.h>

#define VALUES 20000

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

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
    (void)dice;
    return 123456789;
}

static double tiny(struct dice *dice)
{
    return 200 * dice_share(dice);
}

static double up_to_the_top(struct dice *dice)
{
    return 1e11 * dice_share(dice);
}

static sampler *const shapes[] = {uniform, exponential, lognormal, bimodal, constant, tiny, up_to_the_top};

static void roll_values(struct dice *dice, sampler *sample, uint64_t values[VALUES],
                        struct histogram *histogram)
{
    histogram_reset(histogram);
    for (size_t i = 0; i < VALUES; i++) {
        values[i] = (uint64_t)sample(dice);
        histogram_record(histogram, values[i]);
    }
}

/* The value of nearest rank: number ceil(q n) of the sorted ones, the first for q = 0. */
static uint64_t exact_quantile(const uint64_t sorted[VALUES], double q)
{
    size_t rank = (size_t)ceil(q * VALUES);

    return sorted[rank ? rank - 1 : 0];
}

TEST(quantiles_lie_within_one_percent_of_the_exact_ones)
{
    static const double quantiles[] = {0,   0.001, 0.01, 0.1,   0.25,   0.5, 0.75,
                                       0.9, 0.95,  0.99, 0.999, 0.9999, 1};
    static struct histogram histogram;
    static uint64_t values[VALUES];
    struct dice dice = {.state = 5};

    for (size_t s = 0; s < COUNT_OF(shapes); s++) {
        roll_values(&dice, shapes[s], values, &histogram);
        qsort(values, VALUES, sizeof *values, compare);
        for (size_t i = 0; i < COUNT_OF(quantiles); i++) {
            double exact = (double)exact_quantile(values, quantiles[i]);
            double found = histogram_quantile(&histogram, quantiles[i]);

            if (fabs(found - exact) > 0.01 * exact)
                fail_msg("shape %zu: the quantile %g is %g, not %g", s, quantiles[i], found, exact);
        }
        assert_int_equal(histogram.minimum, values[0]);
        assert_int_equal(histogram.maximum, values[VALUES - 1]);
    }
}

TEST(a_small_histogram_has_quantiles_too)
{
    static struct histogram histogram;

    histogram_reset(&histogram);
    assert_true(histogram_quantile(&histogram, 0.5) == 0);
    histogram_record(&histogram, 1000003);
    assert_true(histogram_quantile(&histogram, 0) == 1000003);
    assert_true(histogram_quantile(&histogram, 0.5) == 1000003);
    assert_true(histogram_quantile(&histogram, 1) == 1000003);
    histogram_record(&histogram, 7);
    assert_true(histogram_quantile(&histogram, 0.5) == 7);
    assert_true(histogram_quantile(&histogram, 0.51) == 1000003);
}

TEST(what_lies_above_a_hundred_seconds_is_counted_in_the_last_bin)
{
    static struct histogram histogram;
    uint32_t top = histogram_bin(HISTOGRAM_TOP_NS);

    assert_true(top < HISTOGRAM_BINS);
    histogram_reset(&histogram);
    histogram_record(&histogram, HISTOGRAM_TOP_NS);
    histogram_record(&histogram, 3 * HISTOGRAM_TOP_NS);
    histogram_record(&histogram, UINT64_C(1) << 60);
    assert_int_equal(histogram.bins[top], 3);
    assert_int_equal(histogram.maximum, UINT64_C(1) << 60);
    assert_true(histogram_quantile(&histogram, 0.5) >= (double)HISTOGRAM_TOP_NS);
}

TEST(the_bins_tile_the_range_without_gap)
{
    assert_int_equal(histogram_low(0), 0);
    for (uint32_t bin = 0; bin + 1 < HISTOGRAM_BINS; bin++)
        assert_int_equal(histogram_low(bin) + histogram_width(bin), histogram_low(bin + 1));
    assert_true(histogram_low(HISTOGRAM_BINS - 1) > HISTOGRAM_TOP_NS);
}

TEST(a_bin_holds_its_first_and_its_last_value)
{
    for (uint32_t bin = 0; bin <= histogram_bin(HISTOGRAM_TOP_NS); bin++) {
        uint64_t low = histogram_low(bin), last = low + histogram_width(bin) - 1;

        assert_int_equal(histogram_bin(low), bin);
        assert_int_equal(histogram_bin(last), bin);
        assert_true(64 * histogram_width(bin) <= low || histogram_width(bin) == 1);
    }
}

TEST(json_holds_the_counts_and_nothing_empty)
{
    static struct histogram histogram;
    CLEANUP_JSON json_t *json = NULL, *expected = NULL;

    histogram_reset(&histogram);
    assert_null(histogram_to_json(&histogram));
    histogram_record(&histogram, 5);
    histogram_record(&histogram, 5);
    histogram_record(&histogram, 257); /* in [256, 260) */
    json = histogram_to_json(&histogram);
    expected = json_pack("{s:s, s:i, s:i, s:i, s:i, s:[[i, i, i], [i, i, i]]}", "unit", "ns", "count", 3,
                         "minimum", 5, "maximum", 257, "sum", 267, "bins", 5, 1, 2, 256, 4, 1);
    assert_true(json_equal(json, expected));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_lie_within_one_percent_of_the_exact_ones),
        cmocka_unit_test(a_small_histogram_has_quantiles_too),
        cmocka_unit_test(what_lies_above_a_hundred_seconds_is_counted_in_the_last_bin),
        cmocka_unit_test(the_bins_tile_the_range_without_gap),
        cmocka_unit_test(a_bin_holds_its_first_and_its_last_value),
        cmocka_unit_test(json_holds_the_counts_and_nothing_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
