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
from dataclasses import dataclass, replace
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
    published: the published figures of the cell.
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
    """All figures of a result: figures[cell][metric], absent if the cell has no value.

    same: by metric, A' against A of each baseline cell.
    gain: the metric whose gains were asked for, or None. gains: by cell, absent if it has none.
    best: the axis whose best value by the first metric was asked for, or None. optima: the best
    value of each group.
    """

    matrix: Matrix
    metrics: tuple[Metric, ...]
    baseline: Mapping[str, str]
    figures: Mapping[str, Mapping[str, Figure]]
    same: Mapping[str, Mapping[str, Contrast]]
    published_unused: tuple[str, ...]
    gain: str | None
    gains: Mapping[str, Gain]
    best: str | None = None
    optima: tuple[Optimum, ...] = ()

    @property
    def gain_shown(self) -> str | None:
        """The metric that has columns of gains; None if there are no gains."""
        return self.gain if self.gains else None

    @property
    def best_metric(self) -> str | None:
        """The metric that decides which value is best; None if the best was not asked for."""
        return self.metrics[0].name if self.best else None


def figure_make(series: Series, exact: bool) -> Figure:
    interval = None if exact else stats.median_interval(series.values, series.bounds)
    return Figure(series.median, interval, len(series), exact)


def figure_build(matrix: Matrix, cell: Cell, metric: Metric) -> Figure | None:
    """The figure of a cell; None if no good round has the metric."""
    series = matrix.series(cell.name, metric.name)
    if not len(series):
        return None
    figure = figure_make(series, matrix.is_exact(cell.name, metric.name))
    return replace(
        figure, judged=baseline_judged(matrix, cell, metric.name),
        published=published_ratios(matrix, cell, metric.name, matrix.baseline_find(cell)))


def summary_build(matrix: Matrix, names: tuple[str, ...], gain: str | None = None,
                  best: str | None = None) -> Summary:
    """The figures of these metrics, the gains of one, and the best values of an axis."""
    for published in matrix.result.scenario.published:
        metric_find(published.metric, "scenario.toml: [published] metric")
    metrics = tuple(METRICS[name] for name in names)
    figures = {cell.name: {metric.name: figure for metric in metrics
                           if (figure := figure_build(matrix, cell, metric))}
               for cell in matrix.cells.values()}
    gains = {cell.name: found for cell in matrix.cells.values() if gain and (
        found := gain_build(matrix, cell, matrix.baseline_find(cell), METRICS[gain]))}
    same = {metric.name: same_contrasts(matrix, metric.name) for metric in metrics}
    optima = optima_build(matrix, best, metrics[0]) if best else ()
    return Summary(matrix, metrics, matrix.baseline, figures, same,
                   published_unused(matrix), gain, gains, best, optima)


def figure_words(figure: Published) -> Mapping[str, str]:
    return words_split(figure.words.split(), "scenario.toml: [published] words: ")


def published_sets(matrix: Matrix) -> tuple[str, ...]:
    """The names of the sets of published figures, in order; "" for figures without a set."""
    return tuple(dict.fromkeys(figure.set for figure in matrix.result.scenario.published))


def published_find(matrix: Matrix, cell: Cell, metric: str, set_name: str, label: str
                   ) -> Published | None:
    """The figure of a set for a cell. If several match, the one with the most words."""
    matching = [figure for figure in matrix.result.scenario.published
                if (figure.metric, figure.set, figure.label) == (metric, set_name, label)
                and figure_words(figure).items() <= cell.words.items()]
    return max(matching, key=lambda figure: len(figure.words.split()), default=None)


def published_ratios(matrix: Matrix, cell: Cell, metric: str, base: Cell | None, label: str = LABEL
                ) -> tuple[PublishedRatio, ...]:
    """The published figures of a cell, at most one of each set. base: its baseline."""
    pairs = ((published_find(matrix, cell, metric, name, label),
              published_find(matrix, base, metric, name, LABEL) if base else None)
             for name in published_sets(matrix))
    return tuple(PublishedRatio(figure, figure.value / other.value if other else None)
                 for figure, other in pairs if figure)


def published_unused(matrix: Matrix) -> tuple[str, ...]:
    """The words of published figures that match no cell."""
    return tuple(figure.words for figure in matrix.result.scenario.published if not any(
        figure_words(figure).items() <= cell.words.items() for cell in matrix.whole.cells.values()))


def gain_build(matrix: Matrix, cell: Cell, base: Cell | None, metric: Metric) -> Gain | None:
    """The gain of a cell; None if it has no baseline, or no ratio to it."""
    if base is None:
        return None
    same = cell.name == base.name
    again = same_contrast(matrix, cell, metric.name)
    judged = (Judged(again, Family({cell.name: again})) if same else
              baseline_judged(matrix, cell, metric.name))
    if judged is None or judged.estimate is None:
        return None
    pre, post = matrix.runs_paired(cell.name, metric.name) if same else (
        matrix.series(one.name, metric.name) for one in (base, cell))
    contrast = judged.contrast
    gains = [None] if not contrast.paired or contrast.censored else sorted(
        (contrast.new.values / contrast.base.values - 1).tolist(), reverse=metric.better == "lower")
    published = published_ratios(matrix, cell, metric.name, base, LABEL_REPEAT if same else LABEL)
    return Gain(pre.median, post.median, judged, judged.estimate, gains[0], gains[-1], published)
