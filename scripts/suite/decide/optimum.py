# SPDX-License-Identifier: MIT
"""The best value of a word, for each group of cells that differ in nothing else.

A cell is better than another if the verdict of their contrast is a change for the better. The best
is the cell with the best median: a claimed change agrees with the medians, so no other is better.

The best may be the luckiest of many cells. So another cell is worse only if the verdict says that
the best is better. Each value is also held against the baseline.

An answer is the best value for each group that an [[answer]] asks about. present/answers.py puts
answers into words.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from suite import stats
from suite.base.runner_words import NO_CHANGE, NOT_LOADED, OVERRIDE
from suite.base.words import words_split, words_text
from suite.contrast.contrast import Verdict, contrast_of
from suite.contrast.verdicts import Judged, groups_find, pair_judged
from suite.observe.frame import Cell, Matrix, remembered
from suite.observe.metrics import Metric, metric_find
from suite.scenario.scenario import Question

BEST, ALIKE, WORSE, UNKNOWN = "*", "=", "", "?"  # marks; UNKNOWN: too few rounds


class BestRatio(NamedTuple):
    """The best of a group against a reference: the baseline of the group. If the best is the
    baseline, or the group has none, the reference is the next best value. ratio: how many times
    better the best is; None if the contrast has none."""

    reference: str
    ratio: stats.Estimate | None
    judged: Judged


@dataclass(frozen=True)
class Optimum:
    """The best value of axis by a metric, of one group.

    place: the words that the group shares. left_out: by value without a figure, why.
    medians, marks: by value with a figure, in the plan's order; medians are in the base unit.
    rounds: by value that may be as good as the best: how many rounds would show the difference; 0
    if both are the same count.
    best_ratio: None if no other value has a figure. is_baseline: of the best. spread: the largest
    median divided by the smallest.
    better, worse: the values that are better, or worse, than the baseline.
    """

    axis: str
    metric: Metric
    place: Mapping[str, str]
    medians: Mapping[str, float]
    marks: Mapping[str, str]
    rounds: Mapping[str, float] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    best_ratio: BestRatio | None = None
    is_baseline: bool = False
    better: frozenset[str] = frozenset()
    worse: frozenset[str] = frozenset()

    @property
    def best(self) -> str:
        return next(value for value, mark in self.marks.items() if mark == BEST)

    @property
    def spread(self) -> float:
        return max(self.medians.values()) / min(self.medians.values())

    @property
    def alike(self) -> tuple[str, ...]:
        """The best value and all that may be as good; empty with UNKNOWN marks."""
        if UNKNOWN in self.marks.values():
            return ()
        return tuple(value for value, mark in self.marks.items() if mark in (BEST, ALIKE))


class Answer(NamedTuple):
    """A question, each group's optimum or why there is none. varying: words that name groups.
    omitted: the words of groups that the question does not ask about."""

    question: Question
    optima: tuple[Optimum, ...]
    why: str = ""
    varying: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()


def place_text(place: Mapping[str, str]) -> str:
    """The words that cells of a group share, without those that they do not use."""
    return words_text({key: value for key, value in place.items() if value})


def better_ratio(ratio: stats.Estimate, metric: Metric) -> stats.Estimate:
    """How many times better: the ratio, or its inverse if lower is better. Above 1 is better."""
    def inverse(value: float) -> float:  # 0 says a direction only
        return 1 / value if value else math.inf

    if metric.better == "higher":
        return ratio
    interval = ratio.interval and stats.Interval(
        inverse(ratio.interval.high), inverse(ratio.interval.low), ratio.interval.level)
    return replace(ratio, value=inverse(ratio.value), interval=interval)


def mark_choose(judged: Judged, metric: Metric) -> str:
    """The mark of a cell, from its contrast to the best cell."""
    if judged.estimate is None or judged.verdict in (Verdict.UNKNOWN, Verdict.WITHHELD):
        return UNKNOWN
    return WORSE if judged.direction(metric) < 0 else ALIKE


def rounds_to_decide(judged: Judged) -> float:
    """How many rounds would show the measured difference of two cells, with the correction for
    their family. Infinite if that is unknown; 0 if both are the same count."""
    if judged.verdict is Verdict.EXACT:
        return 0
    ratio = judged.contrast.ratio
    if ratio is None:
        return math.inf
    return max(ratio.pairs + 1, stats.rounds_to_find(ratio, max(judged.family.tested, 1)))


def left_out_reason(matrix: Matrix, cell: Cell, metric: Metric) -> str:
    """Why a cell of a group has no figure; empty if it has one, or did not run."""
    series = matrix.series(cell.name, metric.name)
    if cell.status == "failed":
        return "failed in every round"
    if cell.status != "ok" or series.positive:
        return ""
    return f"cannot be compared: {metric.name} was 0 in some round" if len(series) else (
        f"has no {metric.name}")


def optimum_build(matrix: Matrix, axis: str, metric: Metric, cells: Sequence[Cell]) -> Optimum:
    """The optimum of one group, which is not empty."""
    found = {cell.axes[axis]: cell for cell in cells}
    series = {value: matrix.series(cell.name, metric.name) for value, cell in found.items()}

    def judged(base: str, new: str) -> Judged:
        return pair_judged(matrix, found[base], found[new], metric.name)

    best, *others = sorted(series, reverse=metric.better == "higher", key=lambda value: (
        stats.median(series[value].values), series[value].median))
    base_cell = matrix.baseline_find(found[best])
    base = next((value for value, cell in found.items() if cell is base_cell), None)
    reference = base if base in others else next(iter(others), None)
    versus_best = {value: judged(best, value) for value in found if value != best}
    ways = {value: judged(base, value).direction(metric) for value in found if value != base
            } if base is not None else {}
    ratio = judged(reference, best) if reference is not None else None
    place = {key: word for key, word in found[best].axes.items() if key != axis}
    marks = {value: BEST if value == best else mark_choose(versus_best[value], metric)
             for value in found}
    return Optimum(
        axis, metric, place, {value: one.median for value, one in series.items()}, marks,
        rounds={value: rounds_to_decide(one) for value, one in versus_best.items()
                if marks[value] == ALIKE},
        left_out={cell.axes[axis]: why for cell in matrix.cells.values()
                  if place.items() <= cell.axes.items()
                  and (why := left_out_reason(matrix, cell, metric))},
        best_ratio=BestRatio(
            reference, ratio.estimate and better_ratio(ratio.estimate, metric), ratio)
        if reference is not None and ratio else None,
        is_baseline=axis in matrix.baseline and base == best,
        better=frozenset(value for value, way in ways.items() if way > 0),
        worse=frozenset(value for value, way in ways.items() if way < 0))


@remembered
def optima_all(matrix: Matrix, axis: str, metric: Metric) -> tuple[Optimum, ...]:
    return tuple(optimum_build(matrix.whole, axis, metric, cells)
                 for cells in groups_find(matrix.whole, axis, metric.name))


def optima_build(matrix: Matrix, axis: str, metric: Metric) -> tuple[Optimum, ...]:
    """The optimum of every group with a shown cell, in the plan's order."""
    shown = [cell.axes for cell in matrix.cells.values()]
    return tuple(one for one in optima_all(matrix, axis, metric)
                 if any(one.place.items() <= axes.items() and axes[axis] in one.medians
                        for axes in shown))


def optimum_of(optima: Iterable[Optimum], cell: Cell) -> Optimum | None:
    """The optimum of a cell's group; None if the cell is in no group."""
    return next((optimum for optimum in optima if optimum.place.items() <= cell.axes.items()), None)


def question_answer(matrix: Matrix, question: Question) -> Answer:
    """The answer to a question, for the groups with its words whose cells are all shown."""
    wanted = words_split(question.where.split(), f"[answer] where {question.where}: ")
    word = question.word
    if word not in matrix.axes:
        return Answer(question, (), f"{word} does not vary here")
    places = {name: {key: value for key, value in cell.axes.items() if key != word}
              for name, cell in matrix.whole.cells.items()}
    asked = [places[name] for name, cell in matrix.whole.cells.items()
             if wanted.items() <= cell.words.items()]
    metric = metric_find(question.metric, "scenario.toml: [answer] metric")
    optima = tuple(one for one in optima_build(matrix, word, metric) if one.place in asked
                   and one.medians.keys() <= {cell.axes[word] for name, cell in matrix.cells.items()
                                              if places[name] == one.place})
    why = f"no cell here has {question.metric}{f' with {question.where}' if wanted else ''}"
    varying = tuple(key for key in matrix.axes
                    if key != word and len({place[key] for place in asked}) > 1)
    return Answer(question, optima, "" if optima else why, varying, tuple(dict.fromkeys(
        place_text(places[name]) for name in matrix.cells if places[name] not in asked)))


def answers_decide(matrix: Matrix, *more: Question) -> list[Answer]:
    """The answers to all questions of the scenario, in order, and to further ones that it does not
    ask. A narrowed matrix leaves out questions about cells that it does not show."""
    questions: dict[tuple[str, str, str], Question] = {}
    for one in (*matrix.result.scenario.answers, *more):
        questions.setdefault((one.word, one.metric, one.where), one)
    answers = [question_answer(matrix, question) for question in questions.values()]
    return [answer for answer in answers if answer.optima or matrix.narrowed_from is None]


def axes_by_effect(matrix: Matrix, metric: Metric) -> dict[str, float]:
    """The words that vary, the one that matters most first, with the largest ratio of two medians
    of a group of cells that differ in it alone."""
    effects = {axis: max((one.spread for one in optima_build(matrix, axis, metric)), default=0.0)
               for axis in matrix.axes}
    return {axis: effect for axis, effect in sorted(effects.items(), key=lambda item: -item[1])
            if effect}


def places_omitted(answers: Sequence[Answer]) -> list[str]:
    """The words of groups that some question leaves out and none of the same word and metric
    answers."""
    answered = [(one.question.word, one.question.metric, place_text(optimum.place))
                for one in answers for optimum in one.optima]
    return list(dict.fromkeys(place for one in answers for place in one.omitted if (
        one.question.word, one.question.metric, place) not in answered))


def library_costs(matrix: Matrix, metrics: Sequence[Metric]
                  ) -> Iterator[tuple[str, Metric, stats.Estimate]]:
    """What the library of override= costs by all timed metrics: words, metric, and the ratio of a
    cell with these words in which it is loaded and changes nothing to the cell without it."""
    for cell in matrix.cells.values():
        base = matrix.baseline_find(cell, {OVERRIDE: NOT_LOADED})
        if base and cell.axes.get(OVERRIDE) == NO_CHANGE:
            place = place_text({**cell.axes, OVERRIDE: ""})
            for metric in metrics:
                ratio = contrast_of(matrix, base, cell, metric.name).estimate()
                if metric.timed and ratio:
                    yield place, metric, ratio
