# SPDX-License-Identifier: MIT
"""What intervals and tests promise, on simulated noise: coverage, false claims, and changes that
are found.

Everything is seeded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from simulated import correlated
from suite import stats
from suite.measure.resume import rounds_added
from suite.measure.schedule import round_order
from suite.result.plan import UNTIL_TIMES, PlannedCell
from suite.scenario.scenario import LABEL
from suite.stats.nulls import Null

SAMPLES = 4000
FOUND = 1500  # comparisons that look for the minimum detectable effect of another
# standard errors of a share that a simulation may be off: there are some sixty of them
ERRORS = 4
DRIFT = 0.06       # at most, over a whole run
Ends = tuple[np.ndarray, np.ndarray]


def normal(chance: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Logarithms of values with a noise of 2 %."""
    return chance.normal(0, 0.02, shape)


def skewed(chance: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Most are fast, some much slower; the median is 0."""
    return chance.exponential(0.02, shape) - 0.02 * math.log(2)


def bimodal(chance: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Two states of a machine, 10 % apart and as frequent; the median is 0."""
    return chance.normal(0, 0.01, shape) + 0.05 * chance.choice((-1, 1), shape)


NOISES = (normal, skewed, bimodal)
Noise = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def drifts(chance: np.random.Generator, samples: int, length: int) -> np.ndarray:
    """For each sample a random walk with a trend, of which highest and lowest are at most DRIFT
    apart."""
    walk = np.cumsum(chance.normal(chance.normal(0, 0.5, (samples, 1)), 1, (samples, length)),
                     axis=1)
    reach = np.ptp(walk, axis=1, keepdims=True)
    return (walk - walk[:, :1]) / reach * chance.uniform(0, DRIFT, (samples, 1))


def level_of(null: Null) -> float:
    """The coverage of an interval of 95 %."""
    return null.level_of(null.rank_at(stats.ALPHA))


def ends_of(intervals: Iterable[stats.Interval]) -> Ends:
    """The lower and the upper ends."""
    low, high = np.array([interval[:2] for interval in intervals]).T
    return low, high


def paired(rows: np.ndarray) -> Ends:
    """The interval of each row of differences."""
    zeros = np.zeros(rows.shape[1])
    return ends_of(stats.shifts_make(row, zeros, True).ends(stats.ALPHA) for row in rows)


def unpaired(new: np.ndarray, base: np.ndarray) -> Ends:
    """The interval of new - base of each row, where no round is shared."""
    return ends_of(stats.shifts_make(*sides, False).ends(stats.ALPHA)
                   for sides in zip(new, base, strict=True))


def ratio(new: np.ndarray, base: np.ndarray, shared: bool) -> Ends:
    """The interval of new / base of each row, all in logarithms."""
    return np.log(ends_of(stats.ratio_make(*sides, shared).interval()
                          for sides in zip(np.exp(new), np.exp(base), strict=True)))


def medians(rows: np.ndarray) -> Ends:
    """The interval of the median of each row."""
    return ends_of(map(stats.median_interval, rows))


def covered(ends: Ends, truth: float) -> float:
    """In which share of the rows the closed interval contains the truth."""
    return float(np.mean((ends[0] <= truth) & (truth <= ends[1])))


def error_of(share: float, samples: int = SAMPLES) -> float:
    """How far from a share a simulation may be."""
    return ERRORS * math.sqrt(share * (1 - share) / samples)


def assert_covers(ends: Ends, truth: float, level: float) -> None:
    """Coverage is the exact level, which is at least 95 %."""
    assert level >= 0.95
    assert covered(ends, truth) == pytest.approx(level, abs=error_of(level))


def assert_covers_least(ends: Ends, truth: float, level: float = 0.95) -> None:
    """Coverage is at least this level, which is at least 95 %."""
    assert level >= 0.95
    assert covered(ends, truth) >= level - error_of(level)


@pytest.mark.parametrize("rounds", [6, 10, 25])
@pytest.mark.parametrize("noise", NOISES)
def test_the_interval_of_a_median_covers_at_its_exact_level(noise: Noise, rounds: int) -> None:
    values = noise(np.random.default_rng(rounds), (SAMPLES, rounds))
    assert_covers(medians(values), 0, stats.median_interval(values[0]).level)


@pytest.mark.parametrize("rounds", [6, 10, 25])
def test_under_drift_the_interval_of_a_median_covers_that_of_all_rounds_more_often_never_less(
        rounds: int) -> None:
    # Hoeffding (1956): of trials with different chances the number that succeed spreads less.
    chance = np.random.default_rng(rounds)
    trend = np.linspace(-DRIFT / 2, DRIFT / 2, rounds)
    ends = medians(normal(chance, (SAMPLES, rounds)) + trend)
    level = stats.median_interval(range(rounds)).level
    assert covered(ends, 0) >= level - error_of(level)


@pytest.mark.parametrize("rounds", [6, 10, 25])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("drifting", [False, True], ids=["still", "drifting"])
def test_a_rank_test_covers_at_its_exact_level_and_a_paired_ratio_at_least_so_also_under_drift(
    noise: Noise, rounds: int, drifting: bool
) -> None:
    chance = np.random.default_rng(rounds)
    base, new = noise(chance, (2, SAMPLES, rounds))
    if drifting:  # within a round as well: it is a coin that says which of the two comes first
        machine = drifts(chance, SAMPLES, 2 * rounds).reshape(SAMPLES, rounds, 2)
        machine = chance.permuted(machine, axis=2)
        base, new = base + machine[:, :, 0], new + machine[:, :, 1]
    level, change = level_of(stats.signed_rank_null(rounds)), math.log(1.05)
    ranks = paired(new + change - base)
    assert_covers(ranks, change, level)
    assert_covers_least(ratio(new + change, base, True), change, level)


@pytest.mark.parametrize("sides", [(4, 4), (6, 6), (5, 20), (12, 10)])
@pytest.mark.parametrize("noise", NOISES)
def test_an_unpaired_ratio_covers_at_least_at_its_level(
    noise: Noise, sides: tuple[int, int]
) -> None:
    values = noise(np.random.default_rng(sides), (SAMPLES, sum(sides)))
    new, base = values[:, :sides[0]] + math.log(1.05), values[:, sides[0]:]
    level = level_of(stats.mann_whitney_null(*sides))
    assert_covers(unpaired(new, base), math.log(1.05), level)
    assert_covers_least(ratio(new, base, False), math.log(1.05), level)


@pytest.mark.parametrize("rounds", [20, pytest.param(60, marks=pytest.mark.long)])
def test_of_dependent_rounds_5_percent_are_claimed_and_without_the_widening_15(
        rounds: int) -> None:
    logs = correlated(0.4)(np.random.default_rng(rounds), (2, SAMPLES, rounds))
    base, new = np.log(logs)
    ranks = paired(new - base)
    assert 1 - covered(ranks, 0) > 0.15
    assert_covers_least(ratio(new, base, True), 0)


@pytest.mark.parametrize("sessions, rounds", [(2, 10), (3, 10), (5, 6)])
def test_rounds_of_a_few_sessions_that_differ_cover_95_percent_and_as_one_session_far_less(
        sessions: int, rounds: int) -> None:
    chance = np.random.default_rng(sessions)
    logs = (np.repeat(chance.normal(0, 0.02, (1000, sessions)), rounds, axis=1)
            + chance.normal(0, 0.02, (1000, sessions * rounds)))
    places = np.array_split(np.arange(sessions * rounds), sessions)
    ones = np.ones(sessions * rounds)
    found = [stats.ratio_make(np.exp(row), ones, True, sessions=places).interval() for row in logs]
    assert np.mean([one.contains(1.0) for one in found]) >= 0.95 - error_of(0.05, 1000)
    assert covered(paired(logs), 0) < 0.8


def runs_placed(runs: int, rounds: int) -> np.ndarray:
    """When each first run of the baseline is made, of two in every round: by the schedule, one
    matrix a row."""
    cell = PlannedCell("a", {}, {}, baseline=True)
    return np.array([[next(run.position for run in round_order([cell], seed, number)
                           if run.label == LABEL)
                      for number in range(1, rounds + 1)] for seed in range(runs)])


def test_of_interleaved_runs_on_a_drifting_machine_5_percent_are_claimed_and_of_blocks_40() -> None:
    runs, rounds, chance = 2000, 10, np.random.default_rng(2)
    times = drifts(chance, runs, 2 * rounds) + normal(chance, (runs, 2 * rounds)) / 2
    first = runs_placed(runs, rounds)
    within = times.reshape(runs, rounds, 2)
    one, other = (np.take_along_axis(within, place[:, :, None], axis=2)[:, :, 0]
                  for place in (first, 1 - first))
    claimed = 1 - level_of(stats.signed_rank_null(rounds))
    assert claimed <= 0.05
    ranks = paired(other - one)
    assert 1 - covered(ranks, 0) == pytest.approx(claimed, abs=error_of(claimed, runs))
    assert 1 - covered(ratio(other, one, True), 0) <= claimed
    assert 1 - covered(paired(times[:, rounds:] - times[:, :rounds]), 0) >= 0.4


BOOTS = 0.03  # standard deviation of what a boot brings with it, the same in all that is run in it


def boots_run(chance: np.random.Generator, kernels: int, boots: int, runs: int) -> np.ndarray:
    """Logarithms of times of kernels that are the same: (kernel, sample, boot, run), noise of a run
    within its boot."""
    effects = chance.normal(0, BOOTS, (kernels, SAMPLES, boots, 1))
    return effects + chance.normal(0, 0.005, (kernels, SAMPLES, boots, runs))


@pytest.mark.parametrize("boots", [4, 8])
def test_of_boots_the_ratio_covers_at_its_level_and_rounds_in_one_boot_claim_nearly_always(
        boots: int) -> None:
    base, new = boots_run(np.random.default_rng(boots), 2, boots, 10)
    of_boots = ratio(new[:, :, 0], base[:, :, 0], False)
    assert_covers_least(of_boots, 0, level_of(stats.mann_whitney_null(boots, boots)))
    # ten rounds within one boot of each, taken as pairs
    of_rounds = ratio(new[:, 0], base[:, 0], True)
    assert 1 - covered(of_rounds, 0) > 0.8


def test_boots_that_take_turns_on_a_drifting_machine_claim_no_more_than_on_a_still_one() -> None:
    boots, chance = 8, np.random.default_rng(11)
    values = boots_run(chance, 2, boots, 1)[:, :, :, 0]
    order = np.array([[0, 1] if number % 2 == 0 else [1, 0] for number in range(boots)])  # A B B A
    machine = drifts(chance, SAMPLES, 2 * boots).reshape(SAMPLES, boots, 2)
    base, new = (values[side] +
                 np.take_along_axis(machine, np.where(order == side)[1][None, :, None],
                                    axis=2)[:, :, 0]
                 for side in (0, 1))
    level = level_of(stats.mann_whitney_null(boots, boots))
    assert covered(ratio(new, base, False), 0) >= level - error_of(level)


def found_paired(noise: Noise, rounds: int, alpha: float = stats.ALPHA) -> float:
    """In which share of comparisons the change is found that an earlier comparison printed as its
    minimum detectable effect."""
    found = 0
    for new, base, again, base_again in np.exp(noise(np.random.default_rng(rounds),
                                                     (FOUND, 4, rounds))):
        change = stats.smallest_detectable(stats.ratio_make(new, base, True), alpha)
        p = stats.ratio_make(again * (1 + change), base_again, True).p
        found += p <= alpha
    return found / FOUND


def stopped(values: np.ndarray, width: float, rounds: int) -> np.ndarray:
    """In which round until=WIDTH ends the run of each row: (ends of its median's interval,
    rounds)."""
    ends, last = np.zeros((2, len(values))), np.zeros(len(values), dtype=int)
    done, most = rounds, rounds * UNTIL_TIMES
    while True:
        low, high = medians(values[:, :done])
        centre = np.median(values[:, :done], axis=1)
        now = (last == 0) & ((np.maximum(high - centre, centre - low) <= width * centre) |
                             (done >= most))
        ends[0, now], ends[1, now], last[now] = low[now], high[now], done
        if done >= most:
            return np.array([*ends, last])
        done += rounds_added(done, most)


@pytest.mark.parametrize("noise", [skewed, pytest.param(normal, marks=pytest.mark.long)])
def test_rounds_that_until_adds_cost_an_interval_little_of_its_coverage_and_claims_stay_as_rare(
        noise: Noise) -> None:
    base, new = np.exp(noise(np.random.default_rng(3), (2, SAMPLES, 100)))
    low, high, last = stopped(base, 0.01, 10)
    # so that most runs did stop by their width
    assert np.mean(last == 10) < 0.1 and np.mean(last < 100) > 0.8
    assert covered((low, high), 1) >= 0.92
    claims = np.zeros(SAMPLES, dtype=bool)
    for rounds in np.unique(last).astype(int):
        rows = np.flatnonzero(last == rounds)
        ends = paired(np.log(new[rows, :rounds] / base[rows, :rounds]))
        claims[rows] = (ends[0] > 0) | (ends[1] < 0)
    assert np.mean(claims) <= 0.05 + error_of(0.05)


@pytest.mark.parametrize("rounds, alpha", [(6, 0.05), (10, 0.05), (10, 0.01), (20, 0.05),
                                           (20, 0.005), (50, 0.05), (50, 0.005)])
def test_the_smallest_detectable_change_is_found_in_75_to_85_percent_of_comparisons(
        rounds: int, alpha: float) -> None:
    assert 0.75 <= found_paired(normal, rounds, alpha) <= 0.85


@pytest.mark.parametrize("noise", [skewed, bimodal])
def test_with_noise_of_other_shapes_it_is_found_in_70_to_90_percent(noise: Noise) -> None:
    assert 0.7 <= found_paired(noise, 10) <= 0.9


@pytest.mark.parametrize("sides", [(4, 4), (5, 9)])
def test_the_smallest_detectable_change_between_sessions_is_found_in_75_to_85_percent(
    sides: tuple[int, int],
) -> None:
    before, after = np.exp(normal(np.random.default_rng(sides), (2, FOUND, sum(sides))))
    found = 0
    for one, again in zip(before, after, strict=True):
        change = stats.smallest_detectable(stats.ratio_make(one[:sides[0]], one[sides[0]:], False))
        found += stats.ratio_make(again[:sides[0]] * (1 + change), again[sides[0]:],
                                  False).p <= stats.ALPHA
    assert 0.75 <= found / FOUND <= 0.85
