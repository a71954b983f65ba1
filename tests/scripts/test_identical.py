# SPDX-License-Identifier: MIT
"""What is claimed of cells that do not differ, from records to answers: as often as the level
says. tests/honesty asks the same of many more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from claimed import COMMANDS
from simulated import (
    BASE,
    METRIC,
    NOISES,
    Draw,
    cell_name,
    exponential,
    lognormal,
    matrix_identical,
    matrix_simulated,
    two_modes,
    uniform,
)
from suite.contrast.contrast import Contrast, Status, Verdict, same_contrast, same_reach
from suite.contrast.verdicts import baseline_family, baseline_judged
from suite.decide.comparison.build import compare_baseline, compare_pair
from suite.decide.optimum import optima_build
from suite.decide.summary import summary_build
from suite.observe.frame import Matrix
from suite.observe.metrics import METRICS
from suite.present.comparison.wording import mean_text

GROUPS, FAMILIES = 500, 200  # of two cells, of six
ERRORS = 4  # standard errors by which a share may be off


def share_check(outcomes: list[bool], share: float) -> None:
    """That so many outcomes are true, within ERRORS standard errors."""
    error = ERRORS * math.sqrt(share * (1 - share) / len(outcomes))
    assert np.mean(outcomes) == pytest.approx(share, abs=error)


def some(noises: Sequence[Draw], *usual: Draw) -> list[Any]:
    """A parameter for each noise, by its name; of a long test, if it is not among the usual."""
    return [pytest.param(noise, id=noise.__name__,
                         marks=() if noise in usual else pytest.mark.long) for noise in noises]


def contrasts_of(matrix: Matrix) -> list[Contrast]:
    """The contrasts to the baseline of a table."""
    return list(baseline_family(matrix, METRIC).members.values())


@pytest.mark.parametrize("noise", some(NOISES, lognormal, two_modes))
def test_ratios_of_identical_cells_exclude_1_in_at_most_5_percent(noise: Draw) -> None:
    ratios = [one.estimate() for one in contrasts_of(matrix_identical(noise, GROUPS, 2, 20, 1))]
    assert len(ratios) == GROUPS
    excluding = np.mean([not ratio.interval.contains(1) for ratio in ratios])
    assert excluding <= 0.05 + ERRORS * math.sqrt(0.05 * 0.95 / GROUPS)
    share_check([ratio.value > 1 for ratio in ratios], 0.5)


@pytest.mark.parametrize("rounds", [
    20, *(pytest.param(rounds, marks=pytest.mark.long) for rounds in (10, 60))])
@pytest.mark.parametrize("noise", some((lognormal, exponential, uniform), exponential))
def test_rows_of_wide_noise_of_one_kind_are_mixed_in_at_most_1_percent(
        noise: Draw, rounds: int) -> None:
    for factor in (1.0, 1.5):
        contrasts = contrasts_of(matrix_identical(noise, GROUPS, 2, rounds, 3, factor))
        assert np.mean([one.status is Status.MIXED for one in contrasts]) <= 0.01


@pytest.mark.parametrize("rounds", [20, 60])
def test_a_row_whose_rounds_are_faster_or_ten_times_slower_is_mixed(rounds: int) -> None:
    chance = np.random.default_rng(rounds)
    first = lognormal(chance, (100, 2, rounds)) ** 0.05
    first[:, 1] *= chance.permuted(np.tile(np.repeat([0.85, 10], [rounds * 3 // 4, rounds // 4]),
                                           (100, 1)), axis=1)
    matrix = matrix_simulated(first, lognormal(chance, (100, rounds)) ** 0.05)
    assert {one.status for one in contrasts_of(matrix)} == {Status.MIXED}


def test_the_best_of_six_identical_values_is_the_baseline_in_one_group_of_six() -> None:
    matrix = matrix_identical(exponential, FAMILIES, 6, 10, seed=2)
    optima = optima_build(matrix, "write", METRICS[METRIC])
    share_check([optimum.best == BASE for optimum in optima], 1 / 6)


def test_the_second_run_stands_in_where_the_first_failed_and_only_there() -> None:
    first, again = (
        np.array([[[1.0, np.nan, 3.0], [5.0, 6.0, 7.0]]]),
        np.array([[10.0, 20.0, np.nan]]),
    )
    matrix = matrix_simulated(first, again)
    assert matrix.series(cell_name(0, 0), METRIC).values.tolist() == [1, 20, 3]
    assert matrix.series(cell_name(0, 1), METRIC).values.tolist() == [5, 6, 7]


def test_a_rate_and_the_time_that_it_is_the_reciprocal_of_have_reciprocal_ratios() -> None:
    first, again = np.random.default_rng(5).exponential(1, (2, 3, 2, 13))
    times, rates = ([one.estimate() for one in contrasts_of(matrix_simulated(
        power(first), power(again[:, 0])))] for power in (np.asarray, np.reciprocal))
    assert [ratio.value for ratio in times] == pytest.approx([1 / ratio.value for ratio in rates])
    assert [ratio.p for ratio in times] == pytest.approx([ratio.p for ratio in rates])


def test_the_a_a_interval_of_a_row_is_that_of_its_own_baseline_to_the_farther_end() -> None:
    quiet, noisy = (np.exp(np.random.default_rng(6).normal(0, width, (3, 10)))
                    for width in (0.01, 1.5))
    matrix = matrix_simulated(np.array([quiet[:2], noisy[:2]]), np.array([quiet[2], noisy[2]]))
    for group, reached in ((0, (1, 1.1)), (1, (2, 1000))):
        base, other = (matrix.cells[cell_name(group, place)] for place in (0, 1))
        interval = same_contrast(matrix, base, METRIC).estimate().interval
        reach = same_reach(matrix, other, METRIC)
        assert reached[0] < reach < reached[1]
        assert reach == same_reach(matrix, base, METRIC) == max(interval.high, 1 / interval.low)


@pytest.mark.parametrize("factor, comparable", [(1.0, True), (3.0, False)])
def test_where_a_baseline_differs_from_itself_nothing_is_claimed_of_the_metric(
        factor: float, comparable: bool) -> None:
    first, again = np.exp(np.random.default_rng(7).normal(0, 0.02, (2, 3, 2, 16)))
    first[:, 1] *= 2
    again[2] *= factor
    judged = [baseline_judged(matrix, cell, METRIC)
              for matrix in [matrix_simulated(first, again[:, 0])]
              for cell in matrix.cells.values()]
    verdicts = {one.verdict for one in judged if one}
    assert verdicts == {Verdict.CHANGED if comparable else Verdict.WITHHELD}
    assert {one.contrast.status for one in judged if one} == {
        Status.OK if comparable else Status.INCOMPARABLE}


def test_of_results_with_ten_identical_rows_at_most_5_percent_have_any_claim() -> None:
    results = [matrix_identical(lognormal, 1, 10, 10, seed) for seed in range(100)]
    for claims in COMMANDS:
        claimed = [claims(matrix) for matrix in results]
        assert np.mean(claimed) <= 0.05 + ERRORS * math.sqrt(0.05 * 0.95 / len(claimed)), claims


def test_every_command_says_the_same_of_a_row() -> None:
    first, again = np.exp(np.random.default_rng(8).normal(0, 0.02, (2, 30, 2, 10)))
    again[:, 0] = first[:, 0] * np.exp(np.random.default_rng(9).normal(0, 0.005, (30, 10)))
    first[:, 1] *= np.exp(np.linspace(-0.05, 0.05, 30))[:, None]
    first[4, 1] *= np.repeat([0.1, 10], 5)  # two groups of rounds that contradict each other
    first[5, 1, 4:] = np.nan
    matrix = matrix_simulated(first, again[:, 0])
    verdicts = {cell: found[METRIC].verdict
                for cell, found in summary_build(matrix, (METRIC,)).figures.items()
                if found[METRIC].ratio}
    gains = summary_build(matrix, (METRIC,), gain=METRIC).gains
    (whole,) = compare_baseline(matrix, [METRICS[METRIC]])
    assert {Verdict.CHANGED, Verdict.UNDECIDED, Verdict.WITHHELD, Verdict.UNKNOWN} == set(
        verdicts.values())
    assert {row.new.name: row.changes[METRIC].verdict for row in whole.rows} == verdicts
    assert {cell: gains[cell].judged.verdict for cell in verdicts} == verdicts
    intervals = {row.new.name: row.changes[METRIC].ratio for row in whole.rows}
    for group in (3, 4, 10, 25):  # however few rows are asked for
        words = {"group": f"{group:05}"}
        one = compare_pair([matrix], {"write": "w0"} | words, {"write": "w1"} | words,
                           [METRICS[METRIC]])
        assert one.rows[0].changes[METRIC].verdict is verdicts[cell_name(group, 1)]
        assert one.rows[0].changes[METRIC].ratio == intervals[cell_name(group, 1)]
        assert one.family(METRIC).tested == 28, "two rows have no interval to decide"


def test_medians_of_a_comparison_are_those_of_the_table_and_its_ratio_is_theirs() -> None:
    rounds = np.arange(10.0)
    slow = np.where(rounds < 7, np.nan, 103.0 + rounds)
    whole = 100 + rounds
    matrix = matrix_simulated(np.array([[whole, slow], [whole, 1.02 * whole]]),
                              np.array([whole, whole]))
    (comparison,) = compare_baseline(matrix, [METRICS[METRIC]])
    figures = summary_build(matrix, (METRIC,)).figures
    for row in comparison.rows:
        change = row.changes[METRIC]
        medians = [figures[cell.name][METRIC].median for cell in (row.base, row.new)]
        assert [change.base.median, change.new.median] == medians
        assert change.ratio.value == pytest.approx(medians[1] / medians[0])
    short, whole = (row.changes[METRIC] for row in comparison.rows)
    assert (short.base.median, short.new.median) == (104.5, 111)
    assert short.base.rounds == 10 and short.new.rounds == short.ratio.pairs == 3
    assert short.verdict is Verdict.UNKNOWN and whole.verdict is Verdict.CHANGED


def test_a_geometric_mean_says_its_n_and_leaves_out_rows_that_failed_too_often() -> None:
    chance = np.random.default_rng(9)
    first = chance.normal(100, 1, (4, 2, 10))
    first[0, 1, :7] = np.nan
    first[1, 1, 4] = np.nan
    first[2, 1] *= 1.3
    (comparison,) = compare_baseline(matrix_simulated(first, chance.normal(100, 1, (4, 10))),
                                     [METRICS[METRIC]])
    mean = comparison.geomeans[METRIC]
    assert mean.rows == 3 and mean.ratio.pairs == 9 and mean.left_out == {0: "n=3"}
    ratios = [row.changes[METRIC].ratio.value for row in comparison.rows[1:]]
    assert mean.ratio.value == pytest.approx(math.prod(ratios) ** (1 / 3))
    assert mean.ratio.interval.contains(mean.ratio.value)
    assert mean_text(comparison,
                     METRICS[METRIC]) == "geomean of 3 of 4 cells, n=9, without 00000 (n=3)"


def test_where_no_row_has_changed_there_is_no_geometric_mean() -> None:
    chance = np.random.default_rng(10)
    (comparison,) = compare_baseline(matrix_simulated(
        chance.normal(100, 20, (7, 2, 6)), chance.normal(100, 20, (7, 6))), [METRICS[METRIC]])
    assert Verdict.CHANGED not in {change.verdict for change in comparison.changes()}
    assert comparison.geomeans == {}


def test_a_row_that_waits_for_a_timer_is_in_no_geometric_mean() -> None:
    chance = np.random.default_rng(11)
    first = chance.normal(100e-6, 1e-6, (4, 2, 10))
    first[:, 1] *= 1.3
    first[3, 1] = chance.normal(0.0411, 1e-4, 10)
    (comparison,) = compare_baseline(matrix_simulated(
        first, chance.normal(100e-6, 1e-6, (4, 10))), [METRICS[METRIC]])
    mean = comparison.geomeans[METRIC]
    assert mean.left_out == {3: "40 ms timer"} and 1.25 < mean.ratio.value < 1.35
