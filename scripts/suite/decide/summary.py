# SPDX-License-Identifier: MIT
"""The figures of all outputs: for each cell and metric the median, its interval, its ratio to the
baseline and its published figures. All in base units; no texts.

Published figures become ratios to the published figure of the baseline in the same set. The figures
themselves cannot be compared, because machines differ.

A gain is what patches report: post / pre - 1 within a round, where `pre` is the baseline and `post`
another cell. The gain of the baseline compares its second run with its first, which shows the
noise. Kernels share no round: their gain compares all boots of one with all boots of the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from suite import stats
from suite.base.words import words_split
from suite.contrast.contrast import Contrast, Verdict, same_contrast, same_contrasts
from suite.contrast.verdicts import Family, Judged, baseline_judged
from suite.decide.optimum import Optimum, optima_build
from suite.observe.frame import Cell, Matrix, Series
from suite.observe.metrics import METRICS, Metric, metric_find
from suite.scenario.scenario import LABEL, LABEL_REPEAT, Published


class PublishedRatio(NamedTuple):
    """A published figure of a cell. ratio: to the published figure of its baseline in the same set;
    None if the set has none; 1 for a baseline."""

    figure: Published
    ratio: float | None


class Gain(NamedTuple):
    """pre, post: medians, which may be stats.Beyond. ratio: post / pre. worst, best: gains of one
    round; None without shared rounds, or if censored."""

    pre: float
    post: float
    judged: Judged
    ratio: stats.Estimate
    worst: float | None
    best: float | None
    published: tuple[PublishedRatio, ...]


@dataclass(frozen=True)
class Figure:
    """A metric of a cell over its rounds. The median, or an end of its interval, is a stats.Beyond
    if it is censored.

    interval: of the median; with less than 6 rounds from minimum to maximum; None for a single
    round, or an exact count.
    exact: the same number of events or bytes in every run (Matrix.is_exact).
    judged: the contrast to the baseline; None if the cell is the baseline, or has none.
    """

    median: float
    interval: stats.Interval | None
    rounds: int
    exact: bool
    judged: Judged | None = None
    published: tuple[PublishedRatio, ...] = ()

    @property
    def ratio(self) -> stats.Estimate | None:
        return self.judged.estimate if self.judged else None

    @property
    def verdict(self) -> Verdict | None:
        return self.judged.verdict if self.judged else None


@dataclass(frozen=True)
class Summary:
    """All figures of a result.

    gain: the metric whose gains are asked for, or None.
    best: the axis whose best value by the first metric is asked for, or None.
    """

    matrix: Matrix
    metrics: tuple[Metric, ...]
    gain: str | None = None
    best: str | None = None

    @property
    def baseline(self) -> Mapping[str, str]:
        return self.matrix.baseline

    @cached_property
    def figures(self) -> Mapping[str, Mapping[str, Figure]]:
        """By cell and metric; absent if the cell has no value."""
        return {cell.name: {metric.name: figure for metric in self.metrics
                            if (figure := figure_build(self.matrix, cell, metric))}
                for cell in self.matrix.cells.values()}

    @cached_property
    def same(self) -> Mapping[str, Mapping[str, Contrast]]:
        """By metric, A' against A of each baseline cell."""
        return {metric.name: same_contrasts(self.matrix, metric.name) for metric in self.metrics}

    @cached_property
    def gains(self) -> Mapping[str, Gain]:
        """By cell, absent if it has none."""
        return {cell.name: found for cell in self.matrix.cells.values() if self.gain and (
            found := gain_build(self.matrix, cell, METRICS[self.gain]))}

    @cached_property
    def optima(self) -> tuple[Optimum, ...]:
        """The best value of each group."""
        return optima_build(self.matrix, self.best, self.metrics[0]) if self.best else ()

    @property
    def gain_shown(self) -> str | None:
        """The metric that has columns of gains; None if there are no gains."""
        return self.gain if self.gains else None

    @property
    def best_metric(self) -> str | None:
        """The metric that decides which value is best; None if the best was not asked for."""
        return self.metrics[0].name if self.best else None

    @property
    def published_unused(self) -> tuple[str, ...]:
        """The words of published figures that match no cell."""
        return tuple(figure.words for figure in self.matrix.result.scenario.published
                     if not any(is_of(figure, cell) for cell in self.matrix.whole.cells.values()))


def summary_build(matrix: Matrix, names: tuple[str, ...], gain: str | None = None,
                  best: str | None = None) -> Summary:
    """The figures of these metrics, the gains of one, and the best values of an axis; UsageError
    if the scenario publishes a figure of an unknown metric."""
    for published in matrix.result.scenario.published:
        metric_find(published.metric, "scenario.toml: [published] metric")
    return Summary(matrix, tuple(METRICS[name] for name in names), gain, best)


def figure_make(series: Series, exact: bool, judged: Judged | None = None,
                published: tuple[PublishedRatio, ...] = ()) -> Figure:
    interval = None if exact else stats.median_interval(series.values, series.bounds)
    return Figure(series.median, interval, len(series), exact, judged, published)


def figure_build(matrix: Matrix, cell: Cell, metric: Metric) -> Figure | None:
    """The figure of a cell; None if no good round has the metric."""
    series = matrix.series(cell.name, metric.name)
    return figure_make(series, matrix.is_exact(cell.name, metric.name),
                       baseline_judged(matrix, cell, metric.name),
                       published_ratios(matrix, cell, metric.name)) if len(series) else None


def gain_build(matrix: Matrix, cell: Cell, metric: Metric) -> Gain | None:
    """The gain of a cell; None if it has no baseline, or no ratio to it."""
    if (base := matrix.baseline_find(cell)) is None:
        return None
    again, judged = None, baseline_judged(matrix, cell, metric.name)
    if base.name == cell.name:
        again = same_contrast(matrix, cell, metric.name)
        judged = Judged(again, Family({cell.name: again}))
    if judged is None or judged.estimate is None:
        return None
    pre, post = matrix.runs_paired(cell.name, metric.name) if again else (
        matrix.series(one.name, metric.name) for one in (base, cell))
    contrast = judged.contrast
    gains = [None] if not contrast.paired or contrast.censored else sorted(
        (contrast.new.values / contrast.base.values - 1).tolist(), reverse=metric.better == "lower")
    return Gain(pre.median, post.median, judged, judged.estimate, gains[0], gains[-1],
                published_ratios(matrix, cell, metric.name, LABEL_REPEAT if again else LABEL))


def published_sets(matrix: Matrix) -> tuple[str, ...]:
    """The names of the sets of published figures, in order; "" for figures without a set."""
    return tuple(dict.fromkeys(figure.set for figure in matrix.result.scenario.published))


def is_of(figure: Published, cell: Cell) -> bool:
    """Whether a published figure is of a cell."""
    words = words_split(figure.words.split(), "scenario.toml: [published] words: ")
    return words.items() <= cell.words.items()


def published_ratios(matrix: Matrix, cell: Cell, metric: str, label: str = LABEL
                     ) -> tuple[PublishedRatio, ...]:
    """The published figures of a cell, at most one of each set: the one with the most words."""
    base = matrix.baseline_find(cell)
    found: dict[str, Published] = {}
    bases: dict[str, float] = {}
    for figure in sorted(matrix.result.scenario.published, key=lambda one: -one.words.count("=")):
        if figure.metric == metric and figure.label == label and is_of(figure, cell):
            found.setdefault(figure.set, figure)
        if figure.metric == metric and figure.label == LABEL and base and is_of(figure, base):
            bases.setdefault(figure.set, figure.value)
    return tuple(PublishedRatio(figure, figure.value / bases[name] if name in bases else None)
                 for name, figure in found.items())
