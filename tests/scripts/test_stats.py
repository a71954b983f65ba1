# SPDX-License-Identifier: MIT
"""The statistics against published exact values, scipy, and simulated coverage."""

from __future__ import annotations

import math
import random

import pytest

import answers  # noqa: F401
from suite import stats

# Lower critical values of the signed-rank statistic, two-sided 5 % (Wilcoxon and Wilcox 1964).
SIGNED_RANK_CRITICAL = {6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 13: 17, 14: 21, 15: 25,
                        16: 29, 17: 34, 18: 40, 19: 46, 20: 52, 21: 58, 22: 65, 25: 89}
# Order statistics k, n + 1 - k of the interval of a median (Conover, sign test, two-sided 5 %).
SIGN_TEST_RANK = {5: 0, 6: 1, 8: 1, 9: 2, 10: 2, 11: 2, 12: 3, 15: 4, 20: 6, 25: 8}


@pytest.mark.parametrize("n, critical", SIGNED_RANK_CRITICAL.items())
def test_signed_rank_rank_is_one_above_the_published_critical_value(n, critical):
    rank, level = stats.signed_rank_rank(n)
    assert rank == critical + 1
    assert 0.95 <= level < 1


@pytest.mark.parametrize("n", range(1, 6))
def test_below_six_pairs_no_signed_rank_interval_reaches_95_percent(n):
    assert stats.signed_rank_rank(n)[0] == 0


@pytest.mark.parametrize("n, rank", SIGN_TEST_RANK.items())
def test_the_interval_of_a_median_uses_the_published_order_statistics(n, rank):
    assert stats.sign_test_rank(n) == rank


def test_signed_rank_probabilities_are_those_of_all_sign_patterns():
    n = 7
    counts = [0] * (n * (n + 1) // 2 + 1)
    for pattern in range(2**n):
        counts[sum(rank + 1 for rank in range(n) if pattern >> rank & 1)] += 1
    assert [p * 2**n for p in stats.signed_rank_probabilities(n)] == counts


def test_large_numbers_of_rounds_stay_finite():
    # 2**1024 is more than a float holds.
    rank, level = stats.signed_rank_rank(1100)
    assert rank > 0 and 0.95 <= level < 0.9501


def test_the_median_interval_of_six_is_all_of_them_at_its_exact_level():
    interval = stats.median_interval([3, 1, 2, 6, 5, 4])
    assert (interval.low, interval.high) == (1, 6)
    assert interval.level == 1 - 2 / 2**6


def test_below_six_rounds_the_range_is_marked_as_no_interval():
    assert stats.median_interval([2, 1, 3]) == stats.Interval(1, 3, None)
    assert stats.median_interval([2]) is None


def test_the_shift_is_the_median_of_the_walsh_averages():
    # 1, 2, 4: averages 1, 1.5, 2, 2.5, 3, 4.
    assert stats.shift_estimate([1, 2, 4]) == stats.Estimate(2.25, None, 3)


def test_the_ratio_of_a_scaled_series_is_the_scale():
    base = [5.0, 6.0, 9.0, 4.0, 7.0, 8.0]
    ratio = stats.ratio_estimate([0.5 * value for value in base], base)
    assert math.isclose(ratio.value, 0.5)
    assert math.isclose(ratio.interval.low, 0.5) and math.isclose(ratio.interval.high, 0.5)


def test_turning_a_ratio_round_turns_its_interval_round():
    chance = random.Random(3)
    new = [chance.lognormvariate(0, 0.1) for _ in range(9)]
    old = [chance.lognormvariate(0, 0.1) for _ in range(9)]
    one, other = stats.ratio_estimate(new, old), stats.ratio_estimate(old, new)
    assert math.isclose(one.value, 1 / other.value)
    assert math.isclose(one.interval.low, 1 / other.interval.high)


def test_interval_and_signed_rank_test_of_scipy_never_contradict_each_other():
    scipy_stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    chance = random.Random(11)
    seen = set()
    for _ in range(400):
        n = chance.randrange(6, 15)
        differences = [chance.gauss(0.6, 1) for _ in range(n)]
        p = scipy_stats.wilcoxon(differences, method="exact").pvalue
        excludes = not stats.shift_estimate(differences).interval.contains(0)
        assert excludes == (p <= 0.05)
        seen.add(excludes)
    assert seen == {True, False}


@pytest.mark.parametrize("n", [6, 10, 20])
def test_both_intervals_cover_the_truth_in_at_least_95_percent_of_samples(n):
    chance = random.Random(n)
    shift = median = 0
    for _ in range(2000):
        sample = [chance.gauss(1, 1) for _ in range(n)]
        shift += stats.shift_estimate(sample).interval.contains(1)
        median += stats.median_interval(sample).contains(1)
    # Three standard errors of a share of 0.95 in 2000 samples are 0.015.
    assert shift / 2000 >= 0.935 and median / 2000 >= 0.935


def test_ties_make_the_interval_wider_never_narrower():
    assert stats.shift_estimate([0, 0, 0, 0, 0, 1]).interval.contains(0)


def test_the_band_is_the_farthest_end_of_all_intervals():
    estimates = [stats.Estimate(1, stats.Interval(0.97, 1.01, 0.96), 6),
                 stats.Estimate(1, stats.Interval(0.995, 1.02, 0.96), 6),
                 stats.Estimate(1, None, 3)]
    assert math.isclose(stats.same_band(estimates), 0.03)
    assert stats.same_band([]) is None


def test_outliers_are_marked_by_tukeys_fences():
    assert stats.outliers_mark([10, 11, 10, 12, 11, 40]) == [False] * 5 + [True]
    assert stats.outliers_mark([1, 100, 1]) == [False] * 3


def test_the_relative_width_is_that_of_the_farther_end():
    assert stats.relative_width(10, stats.Interval(9, 13, 0.95)) == 0.3
