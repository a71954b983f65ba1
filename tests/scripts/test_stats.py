# SPDX-License-Identifier: MIT
"""The statistics against published exact values, R and scipy; test_coverage.py simulates what they
promise."""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import answers  # noqa: F401
from suite import stats

# Lower critical values of the signed-rank statistic, two-sided 5 % (Wilcoxon and Wilcox 1964).
SIGNED_RANK_CRITICAL = {6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 13: 17, 14: 21, 15: 25,
                        16: 29, 17: 34, 18: 40, 19: 46, 20: 52, 21: 58, 22: 65, 25: 89}
# Lower critical values of the Mann-Whitney statistic, two-sided 5 % (Mann and Whitney 1947; Siegel
# 1956, table K).
MANN_WHITNEY_CRITICAL = {(4, 4): 0, (4, 5): 1, (5, 5): 2, (5, 6): 3, (6, 6): 5, (7, 7): 8,
                         (8, 8): 13, (9, 9): 17,
                         (10, 10): 23, (5, 10): 8, (12, 12): 37, (15, 15): 64, (20, 20): 127,
                         (10, 20): 55}
# Order statistics k, n + 1 - k of the interval of a median (Conover, sign test, two-sided 5 %).
SIGN_TEST_RANK = {5: 0, 6: 1, 8: 1, 9: 2, 10: 2, 11: 2, 12: 3, 15: 4, 20: 6, 25: 8}
# Hollander and Wolfe (1973), pages 29 and 69, as the examples of wilcox.test() in R have them; p
# there is one-sided: 0.01953 and 0.1272. Darwin's pairs of plants, in inches (1876; Fisher 1935).
# Value, interval and two-sided p by scipy 1.17.1: wilcoxon() and mannwhitneyu() with
# method="exact", intervals by inverting them.
DEPRESSION = ([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30],
              [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29])
PERMEABILITY = ([0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46],
                [1.15, 0.88, 0.90, 0.74, 1.21])
DARWIN = [eighths / 8 for eighths in (49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48)]
PAIRED_PUBLISHED = [(*DEPRESSION, 0.46, (0.010, 0.786), 2 * 0.01953125),
                    (DARWIN, [0] * 15, 3.125, (0.5, 5.1875), 0.041259765625)]
UNPAIRED_PUBLISHED = [(*PERMEABILITY, 0.305, (-0.15, 0.76), 0.2544122544122544),
                      ([5.2, 4.9, 5.6, 5.1, 6.3, 5.8, 5.4],
                       [4.1, 4.75, 5.05, 4.4, 5.25, 4.6, 4.35, 3.9],
                       0.925, (0.35, 1.5), 0.0037296037296037296)]
# By scipy 1.17.1, quantile_test(values, p=0.5).confidence_interval(0.95).
MEDIAN_PUBLISHED = [(DARWIN, (1.0, 6.125)), (PERMEABILITY[0], (0.8, 1.89)),
                    (np.subtract(*DEPRESSION), (-0.08, 0.952))]
# By scipy 1.17.1, false_discovery_control().
MANY_P = [0.0021, 0.6, 0.0302, 0.011, 0.0499, 0.2, 0.011, 0.0007]
MANY_BENJAMINI_HOCHBERG = [0.0084, 0.6, 0.04832, 0.022, 0.0499 * 8 / 6, 0.2 * 8 / 7, 0.022, 0.0056]


@pytest.mark.parametrize("null, critical", [
    *((stats.signed_rank_null(n), critical) for n, critical in SIGNED_RANK_CRITICAL.items()),
    *((stats.mann_whitney_null(*sides), critical)
      for sides, critical in MANN_WHITNEY_CRITICAL.items())])
def test_a_rank_is_one_above_the_published_critical_value(null, critical):
    assert null.rank_at(stats.ALPHA) == critical + 1
    assert 0.95 <= null.level_of(critical + 1) < 1


@pytest.mark.parametrize("n", range(1, 6))
def test_below_six_pairs_no_signed_rank_interval_reaches_95_percent(n):
    assert 1 / 2 ** (n - 1) > stats.ALPHA and stats.signed_rank_null(n) is stats.TOO_FEW
    assert stats.ratio_make([2.0] * n, [1.0] * n, True).estimate().p_least == 1


@pytest.mark.parametrize("n, rank", SIGN_TEST_RANK.items())
def test_the_interval_of_a_median_uses_the_published_order_statistics(n, rank):
    assert stats.sign_null(n).rank_at(stats.ALPHA) == rank


def test_signed_rank_counts_are_those_of_all_sign_patterns():
    n = 7
    counts = [0] * (n * (n + 1) // 2 + 1)
    for pattern in range(2**n):
        counts[sum(rank + 1 for rank in range(n) if pattern >> rank & 1)] += 1
    assert stats.signed_rank_null(n).counts.tolist() == counts


def test_the_median_interval_of_six_is_all_of_them_and_of_fewer_the_range():
    assert stats.median_interval([3, 1, 2, 6, 5, 4]) == stats.Interval(1, 6, 1 - 2 / 2**6)
    assert stats.median_interval([2, 1, 3]) == stats.Interval(1, 3, None)
    assert stats.median_interval([2]) is None


def test_the_shift_is_the_median_of_the_walsh_averages_or_of_all_differences():
    # 1, 2, 4: averages 1, 1.5, 2, 2.5, 3, 4.
    assert stats.shift_estimate([1, 2, 4], [0] * 3, True) == stats.Estimate(2.25, None, 3)
    # 1 - 0, 1 - 4, 3 - 0, 3 - 4, 8 - 0, 8 - 4: -3, -1, 1, 3, 4, 8.
    assert stats.shift_estimate([1, 3, 8], [0, 4], False) == stats.Estimate(2, None, 2)


def test_the_ratio_of_a_scaled_series_is_the_scale():
    base = [5.0, 6.0, 9.0, 4.0, 7.0, 8.0]
    ratio = stats.ratio_make([0.5 * value for value in base], base, True).estimate()
    assert (ratio.value, *ratio.interval[:2]) == pytest.approx((0.5, 0.5, 0.5))


def test_turning_a_ratio_round_turns_its_interval_round():
    new, old = np.random.default_rng(3).lognormal(0, 0.1, (2, 9))
    one, other = (stats.ratio_make(*sides, True).estimate() for sides in ((new, old), (old, new)))
    assert math.isclose(one.value, 1 / other.value)
    assert math.isclose(one.interval.low, 1 / other.interval.high)


@pytest.mark.parametrize("paired, new, base, value, ends, p", [
    *((True, *published) for published in PAIRED_PUBLISHED),
    *((False, *published) for published in UNPAIRED_PUBLISHED)])
def test_a_shift_is_that_of_r_and_scipy(paired, new, base, value, ends, p):
    estimate = stats.shift_estimate(new, base, paired)
    assert estimate.value == pytest.approx(value)
    assert estimate.interval[:2] == pytest.approx(ends)
    assert estimate.p == pytest.approx(p, rel=1e-9)
    if not paired:
        ratio = stats.ratio_make(np.exp(new), np.exp(base), False).estimate()
        assert ratio.value == pytest.approx(np.median(np.exp(new)) / np.median(np.exp(base)))
        assert np.log(ratio.interval[:2]) == pytest.approx(ends) and ratio.p == estimate.p


@pytest.mark.parametrize("values, ends", MEDIAN_PUBLISHED)
def test_the_interval_of_a_median_is_that_of_scipy(values, ends):
    assert stats.median_interval(values)[:2] == pytest.approx(ends)


def test_outliers_are_marked_by_the_median_absolute_deviation():
    assert stats.outliers_mark([10, 11, 10, 12, 11, 40]) == [False] * 5 + [True]
    # Median 6, median absolute deviation 3: the limit is 3.5 * 1.4826 * 3 = 15.57 away.
    assert stats.outliers_mark([1, 3, 5, 7, 9, 21.5]) == [False] * 6
    assert stats.outliers_mark([1, 3, 5, 7, 9, 21.6]) == [False] * 5 + [True]
    assert stats.outliers_mark([1, 100, 1]) == [False] * 3


def test_where_most_values_are_the_same_a_few_that_differ_are_outliers_and_many_are_not():
    assert stats.outliers_mark([5] * 9 + [5.01]) == [False] * 9 + [True]
    assert stats.outliers_mark([5] * 7 + [6] * 3) == [False] * 10
    assert stats.outliers_mark([5] * 10) == [False] * 10


def test_the_relative_width_is_that_of_the_farther_end():
    assert stats.relative_width(10, stats.Interval(9, 13, 0.95)) == 0.3


def test_mann_whitney_counts_are_those_of_all_arrangements():
    n, m = 4, 5
    counts = [0] * (n * m + 1)
    for places in itertools.combinations(range(n + m), n):
        counts[sum(place - order for order, place in enumerate(places))] += 1
    assert stats.mann_whitney_null(n, m).counts.tolist() == counts


@pytest.mark.parametrize("counted, normal", [
    (stats.signed_rank_null(300), stats.signed_rank_null(301)),
    (stats.mann_whitney_null(100, 100), stats.mann_whitney_null(100, 101)),
    (stats.mann_whitney_null(4, 2500), stats.mann_whitney_null(4, 2501))])
def test_where_the_normal_distribution_stands_in_it_claims_less_and_hardly_differs(counted, normal):
    stand_in = dataclasses.replace(counted, counts=None)
    assert counted.counts is not None and normal.counts is None
    for share in (0.2, 0.5, 0.8, 1):
        w = int(share * counted.rank_at(stats.ALPHA))
        assert counted.two_sided(w) <= stand_in.two_sided(w) <= counted.two_sided(w) + 0.005


def test_four_values_a_side_are_enough_for_an_unpaired_interval_and_three_are_not():
    ratio = stats.ratio_make([2, 2.2, 2.4, 2.6], [1, 1.1, 1.2, 1.3], False).estimate()
    assert math.isclose(ratio.interval.low, 2 / 1.3) and math.isclose(ratio.interval.high, 2.6)
    assert ratio.p == ratio.p_least == 2 / 70
    assert (ratio.pairs, ratio.interval.level) == (4, 1 - 2 / 70)
    few = stats.ratio_make([2, 2.2, 2.4], [1] * 9, False).estimate()
    assert (few.interval, few.p, few.pairs) == (None, None, 3)
    assert stats.ratio_make([1.0] * 3, [1.0] * 9, False).estimate().p_least == 1


def series_simulated(chance, n):
    """Values of n rounds, with ties in half of the cases and with two groups in a quarter."""
    values = np.exp(chance.normal(0, 0.1, n))
    if chance.random() < 0.5:
        values = np.ceil(values * 8)
    return values * chance.choice([1, 10], n, p=[0.7, 0.3]) if chance.random() < 0.25 else values


def ratios_simulated(seed, count):
    """Ratios of every kind: of rounds, of rounds in sessions, with a centre of their own, of
    boots."""
    chance = np.random.default_rng(seed)
    for _ in range(count):
        n, m = chance.integers(4, 30, 2)
        new, base = series_simulated(chance, n), series_simulated(chance, n)
        new = new * chance.choice([1, 1.1])
        yield stats.ratio_make(new, base, True)
        yield stats.ratio_make(new, base, True, math.exp(chance.normal(0, 0.1)))
        yield stats.ratio_make(new, base, True, independent=True)
        sessions = np.array_split(np.arange(n), chance.integers(2, 5))
        yield stats.ratio_make(new, base, True, sessions=sessions)
        yield stats.ratio_make(new, series_simulated(chance, m), False, independent=True)


def test_p_is_at_most_alpha_exactly_where_the_interval_excludes_no_change_at_any_alpha():
    seen = set()
    for ratio in ratios_simulated(5, 400):
        for alpha in (0.3, 0.05, 0.011, 0.002):
            interval = ratio.interval(alpha)
            if interval is None:
                assert ratio.p is None or ratio.p > alpha
                continue
            excludes = not interval.contains(1.0)
            assert excludes == (ratio.p <= alpha), (ratio, alpha)
            seen.add((alpha, excludes))
    assert len(seen) == 8


def test_the_ratio_of_the_medians_is_in_its_interval_and_p_is_1_where_it_points_the_other_way():
    other_way = 0
    for ratio in ratios_simulated(6, 400):
        interval, shift = ratio.interval(), ratio.shifts.centre
        if interval is None:
            continue
        assert interval.contains(ratio.estimate().value)
        if ratio.centre * shift < 0:
            assert ratio.p == 1 and interval.contains(1.0)
            other_way += 1
    assert other_way > 20


def test_the_interval_at_a_higher_confidence_contains_that_at_a_lower_one():
    for ratio in ratios_simulated(7, 100):
        within = [one for alpha in (0.3, 0.05, 0.011) if (one := ratio.interval(alpha))]
        for inner, outer in itertools.pairwise(within):
            assert outer.low <= inner.low and inner.high <= outer.high


# Student's t, two-sided 5 % and 1 % by degrees of freedom ("Student" 1908; Fisher and Yates 1938).
STUDENT_PUBLISHED = {1: (12.706, 63.657), 2: (4.303, 9.925), 3: (3.182, 5.841), 4: (2.776, 4.604),
                     5: (2.571, 4.032), 10: (2.228, 3.169), 30: (2.042, 2.750)}


@pytest.mark.parametrize("degrees, published", STUDENT_PUBLISHED.items())
def test_quantiles_and_p_of_t_are_the_published_ones(degrees, published):
    for alpha, t in zip((0.05, 0.01), published, strict=True):
        found = stats.student_quantile(1 - alpha / 2, degrees)
        assert found == pytest.approx(t, abs=5.1e-4)
        assert 1 - stats.student_cumulative(found, degrees) == pytest.approx(alpha, rel=1e-9)
    assert stats.student_cumulative(0.0, degrees) == 0


def test_two_sessions_that_disagree_make_the_interval_that_of_t():
    new = np.exp([0.30] * 10 + [0.10] * 10)  # means 0.3 and 0.1: 0.2 +/- 12.706 * 0.1
    sessions = [np.arange(10), np.arange(10, 20)]
    ratio = stats.ratio_make(new, np.ones(20), True, sessions=sessions)
    assert (math.log(ratio.interval().low), math.log(ratio.interval().high)) == pytest.approx(
        (0.2 - 1.2706, 0.2 + 1.2706), abs=1e-4)
    assert ratio.p == pytest.approx(0.2952, abs=1e-4)  # t = 2 with one degree of freedom


def test_counted_shifts_are_those_that_would_be_stored(monkeypatch):
    chance = np.random.default_rng(8)
    for paired, ties in itertools.product((True, False), repeat=2):
        new, base = chance.normal(0, 1, (2, 60))
        if ties:
            new, base = np.round(new, 1), np.round(base, 1)
        found = []
        for limit in (stats.STORED, 0):
            monkeypatch.setattr("suite.stats.shift.STORED", limit)
            shifts = stats.shifts_make(new, base, paired)
            assert (shifts.stored is None) == (limit == 0)
            found.append([shifts.centre, *(end for alpha in (0.2, 0.05, 0.001)
                                           for end in shifts.ends(alpha)),
                          *(shifts.p(shift) for shift in (-0.3, 0.0, 0.1))])
        assert found[0] == pytest.approx(found[1], abs=2 * stats.ROUNDING)


def test_a_ratio_of_100_000_rounds_needs_less_than_200_mb():
    code = """if True:
        import re
        import numpy as np
        from suite import stats
        new, base = np.exp(np.random.default_rng(1).normal(0, 0.1, (2, 100_000)))
        ratio = stats.ratio_make(new * 1.01, base, True)
        assert ratio.p < 1e-9 and ratio.interval().contains(1.01), ratio.interval()
        status = open("/proc/self/status").read()  # ru_maxrss has that of the parent
        print(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1])"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 200_000  # KiB


@pytest.mark.parametrize("rounds", [1023, 1024, 5000, 10**6])
def test_many_rounds_decide_every_number_of_rows(rounds):
    assert min(stats.rows_decided(rounds), stats.rows_decided(rounds, paired=False)) > 10**9


def autoregressive(chance, shape, correlation):
    """Normal noise in which neighbouring values have this correlation."""
    values = chance.normal(0, 1, shape)
    for place in range(1, shape[-1]):
        values[..., place] = correlation * values[..., place - 1] + math.sqrt(
            1 - correlation ** 2) * values[..., place]
    return values


def test_dependent_rounds_widen_an_interval_and_independent_ones_hardly_do():
    chance = np.random.default_rng(9)
    mean = {correlation: np.mean([stats.widening_of(row) for row in autoregressive(
        chance, (400, 200), correlation)]) for correlation in (-0.5, 0.0, 0.4)}
    assert mean[-0.5] == 1 and 1 <= mean[0.0] < 1.15
    assert 1.5 < mean[0.4] < 1.8  # ((1 + 0.4) / (1 - 0.4)) ** 0.5 is 1.53


def test_the_widening_is_known_for_ties_and_for_the_shortest_and_steepest_series():
    assert stats.widening_of(np.ones(50)) == stats.widening_of(np.array([1.0])) == 1
    assert stats.widening_of(np.array([1.0, 2.0] * 25)) == 1  # neighbours differ
    drift = np.arange(50.0)
    assert stats.widening_of(drift) == stats.widening_of(np.exp(drift)) == pytest.approx(
        math.sqrt(1.9 / 0.1))
    halves = np.repeat([1.0, 2.0], 25)
    assert stats.widening_of(halves) == pytest.approx(math.sqrt(1.9 / 0.1))


def test_two_groups_of_rounds_are_found_with_their_medians_and_numbers():
    chance = np.random.default_rng(10)
    values = chance.permutation(np.concatenate([170e-6 * np.exp(chance.normal(0, 0.03, 45)),
                                                3e-3 * np.exp(chance.normal(0, 0.05, 15))]))
    found = stats.regimes_of(values)
    assert (found.lower, found.upper) == (45, 15)
    assert found.low == pytest.approx(170e-6, rel=0.02) and found.high == pytest.approx(3e-3,
                                                                                     rel=0.04)
    assert 2e-4 < found.limit < 2.7e-3


@pytest.mark.parametrize("draw, rounds", [
    *itertools.product(("normal", "uniform", "exponential"), (10, 20)), ("normal", 60)])
def test_noise_of_one_kind_has_no_groups_in_99_percent_of_samples(draw, rounds):
    chance = np.random.default_rng(rounds)
    values = {"normal": lambda shape: np.exp(chance.normal(0, 0.3, shape)),
              "uniform": lambda shape: chance.uniform(0.5, 1.5, shape),
              "exponential": lambda shape: chance.exponential(1, shape)}[draw]((1000, rounds))
    found = sum(stats.regimes_of(row) is not None for row in values)
    assert found <= 16  # 1 % and two standard errors


def test_a_group_needs_three_rounds_and_a_tenth_of_all():
    assert stats.regimes_of(np.array([1, 1, 1, 9, 9.0])) is None
    assert stats.regimes_of(np.array([1, 1, 1, 9, 9, 9.0])).upper == 3
    assert stats.regimes_of(np.repeat([1.0, 9.0], [56, 4])) is None, "4 of 60 are outliers"
    assert stats.regimes_of(np.repeat([1.0, 9.0], [54, 6])).upper == 6
    assert stats.regimes_of(np.repeat([1.0, 1.4], [30, 30])) is None


def test_ratios_that_cancel_out_are_ties_with_no_change_in_spite_of_rounding():
    # log(0.1 / 0.7) + log(0.7 / 0.1) and the like are some 1e-16, of either sign.
    new, base = [0.1, 0.7, 0.3, 0.9, 1.1, 1.3], [0.7, 0.1, 0.9, 0.3, 1.3, 1.1]
    assert stats.ratio_make(new, base, True).estimate().value == 1
    assert stats.ratio_make(new, base, True).p == 1


def test_ties_count_against_a_change_in_the_interval_and_in_p():
    tied = stats.shift_estimate([0, 0, 0, 0, 0, 1], [0] * 6, True)
    assert tied.interval.contains(0) and tied.p == 1
    # Signed ranks 2 to 7, and the 0 that has rank 1 counts as negative: W = 1, 2 * 2 / 2^7.
    assert stats.shift_estimate([0, 1, 2, 3, 4, 5, 6], [0] * 7, True).p == 4 / 128


def test_p_of_many_cells_are_adjusted_as_their_authors_and_scipy_do():
    # Benjamini and Hochberg (1995), section 3.2: at 5 % four of these 15 are claimed.
    ps = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
          0.5719, 0.6528, 0.7590, 1.0]
    assert sum(p <= 0.05 for p in stats.benjamini_hochberg(ps)) == 4
    assert stats.benjamini_hochberg(MANY_P) == pytest.approx(MANY_BENJAMINI_HOCHBERG)
    assert stats.benjamini_hochberg([0.9, 0.8]) == pytest.approx([0.9, 0.9])
    assert stats.benjamini_hochberg([]) == []


@pytest.mark.parametrize("rows, rounds", [(1, 6), (2, 7), (15, 10), (25, 10), (26, 11), (100, 12)])
def test_a_single_changed_row_is_decided_from_the_first_round_whose_least_p_survives(rows, rounds):
    assert stats.rounds_deciding(rows) == rounds
    for n in range(2, rounds + 3):
        least = 1 / 2 ** (n - 1)
        adjusted = stats.benjamini_hochberg([least] + [1.0] * (rows - 1))[0]
        assert (adjusted <= stats.ALPHA) == (n >= rounds) == (stats.rows_decided(n) >= rows)


@pytest.mark.parametrize("rows", [1, 3, 12])
def test_boots_that_share_no_round_decide_by_the_least_p_of_all_pairs(rows):
    for n in range(2, 9):
        least = 2 / math.comb(2 * n, n)
        assert (stats.benjamini_hochberg([least] + [1.0] * (rows - 1))[0] <= stats.ALPHA) == (
            n >= stats.rounds_deciding(rows, paired=False))


def test_below_the_rounds_that_an_interval_needs_no_change_is_detectable():
    few = stats.ratio_make([1.1, 0.9, 1, 1.2, 0.8], [1] * 5, True)
    assert stats.smallest_detectable(few) is None
    assert stats.smallest_detectable(stats.ratio_make([1, 2, 3], [1, 2, 3, 4], False)) is None
    same = stats.ratio_make([1] * 6, [1] * 6, True)
    assert stats.smallest_detectable(same) == 0
    assert stats.smallest_detectable(same, 0.01) is None, "2 / 2^6 is more"
