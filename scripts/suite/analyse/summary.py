# SPDX-License-Identifier: MIT
"""The figures of all outputs: for each cell and metric the median, its interval, its ratio to the
baseline and its published figures. All in base units; no text here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from suite import stats
from suite.analyse.frame import Cell, Matrix, baseline_find, baseline_words, noise_floors
from suite.analyse.gain import Gain, gain_build
from suite.analyse.metrics import METRICS, Metric, metric_find
from suite.analyse.optimum import Optimum, optima_build
from suite.analyse.published_ratios import PublishedRatio, published_ratios, published_unused
from suite.analyse.verdicts import Verdict, baseline_ratio, baseline_verdict


@dataclass(frozen=True)
class Figure:
    """A metric of a cell over its rounds. Of a censored median, or end of its interval, it has a
    stats.Beyond.

    interval: of the median, only min..max below 6 rounds; None of a single round and where exact.
    exact: events or bytes, as many in every run (Matrix.is_exact): it has no interval, anything
    else has.
    ratio: to the baseline cell; None for it itself and where there is none. verdict: what may be
    said of it.
    published: what was published of the cell.
    """

    median: float
    interval: stats.Interval | None
    rounds: int
    exact: bool
    ratio: stats.Estimate | None = None
    published: tuple[PublishedRatio, ...] = ()
    verdict: Verdict | None = None


@dataclass(frozen=True)
class Summary:
    """All figures of a result: figures[cell][metric], absent where a cell knows no value.

    floors: the noise floors of each metric, by the baseline cell that they are of.
    gain: the metric whose gains[cell] are wanted, None: of none. A cell without one is absent.
    best: the axis whose best value by the first metric is wanted, by group in optima; None: of
    none.
    """

    matrix: Matrix
    metrics: tuple[Metric, ...]
    baseline: Mapping[str, str]
    figures: Mapping[str, Mapping[str, Figure]]
    floors: Mapping[str, Mapping[str, float]]
    published_unused: tuple[str, ...]
    gain: str | None
    gains: Mapping[str, Gain]
    best: str | None = None
    optima: tuple[Optimum, ...] = ()

    @property
    def gain_shown(self) -> str | None:
        """The metric with columns of gains: that whose gains are wanted, if there are any."""
        return self.gain if self.gains else None

    @property
    def leading(self) -> str | None:
        """The metric by which the best value is looked for; None where none is."""
        return self.metrics[0].name if self.best else None

    def floor_most(self, metric: str) -> float | None:
        """The highest noise floor of a metric; None where none is known."""
        return max(self.floors[metric].values(), default=None)


def figure_make(values: Sequence[float], bounds: Sequence[float], exact: bool) -> Figure:
    """The figure of these values, one per round or session, not empty; bounds as in Series; without
    any ratio."""
    interval = None if exact else stats.median_interval(values, bounds)
    return Figure(stats.median(values, bounds), interval, len(values), exact)


def figure_build(matrix: Matrix, cell: Cell, metric: Metric, base: Cell | None) -> Figure | None:
    """One figure; None where no good round knows the metric."""
    series = matrix.series(cell.name, metric.name)
    if not len(series):
        return None
    ratio = baseline_ratio(matrix, cell, metric.name) if base else None
    verdict = baseline_verdict(matrix, cell, metric.name) if base else None
    figure = figure_make(series.values, series.bounds, matrix.is_exact(cell.name, metric.name))
    return replace(figure, ratio=ratio, verdict=verdict,
                   published=published_ratios(matrix, cell, metric.name, base))


# What the client knows where a foreign peer does not tell the rest.
STAND_INS = {"bandwidth": "messages_per_second", "cpu_per_message": "client_cpu_per_message",
             "cpu_per_byte": "client_cpu_per_message"}


def metrics_default(matrix: Matrix) -> tuple[str, ...]:
    """The columns of a table without columns=, by what the cells do."""
    def known(name: str) -> bool:
        return bool(matrix.frame[name].notna().any())

    if matrix.frame["hyperfine"].any():
        return ("time", "user", "system", "softirq")
    names = metrics_usual(matrix)
    names = tuple(name if known(name) else STAND_INS.get(name, name) for name in names)
    return tuple(filter(known, names)) or names  # what no run can know needs no column


def metrics_usual(matrix: Matrix) -> tuple[str, ...]:
    """What the cells are about: a stream carries, an open loop waits, several requests at a time
    are many a second, a single one takes its time, TLS has records and handshakes, and a sender
    thread has to wake up."""
    cells = list(matrix.whole.cells.values())
    workloads = {cell.words.get("workload") for cell in cells}
    if workloads == {"proxy"}:
        return ("bandwidth", "segments_per_message", "records_per_message",
                "proxy_sends_per_message", "proxy_syscalls_per_message", "proxy_cpu_per_byte")
    if workloads == {"stream"}:
        return ("bandwidth", "segments_per_message", "records_per_message", "sends_per_message",
                "cpu_per_byte")
    if any(cell.open_loop for cell in cells):
        return ("latency_p50", "latency_p99", "requests_late", "cpu_per_message")
    if workloads == {"connect"}:
        return ("messages_per_second", "handshakes_per_second", "handshake_p50", "handshake_p99",
                "latency_p50", "latency_p99", "cpu_per_message")
    if any(cell.words.get("handoff") == "thread" for cell in cells):
        return ("latency_p50", "latency_p99", "handover_p50", "handover_p99", "cpu_per_message")
    if any(cell.words.get(key, "1") != "1" for cell in cells for key in ("connections", "depth")):
        return ("messages_per_second", "latency_p99", "segments_per_message",
                "records_per_message", "sends_per_message", "cpu_per_message")
    return ("time_per_message", "segments_per_message", "records_per_message",
            "sends_per_message", "cpu_per_message")


def summary_build(matrix: Matrix, names: tuple[str, ...], gain: str | None = None,
                  best: str | None = None) -> Summary:
    """The figures of the metrics named, for every cell; the gains of one of them, or the best
    values of an axis by the first."""
    for published in matrix.result.scenario.published:
        metric_find(published.metric, "scenario.toml: [published] metric")
    metrics = tuple(METRICS[name] for name in names)
    base = baseline_words(matrix)
    figures: dict[str, dict[str, Figure]] = {}
    for cell in matrix.cells.values():
        other = baseline_find(matrix, cell, base)
        figures[cell.name] = {metric.name: figure for metric in metrics
                              if (figure := figure_build(matrix, cell, metric, other))}
    floors = {metric.name: noise_floors(matrix, metric.name) for metric in metrics}
    gains = {cell.name: found for cell in matrix.cells.values() if gain and (
        found := gain_build(matrix, cell, baseline_find(matrix, cell, base), METRICS[gain]))}
    optima = optima_build(matrix, best, metrics[0]) if best else ()
    return Summary(matrix, metrics, base, figures, floors, published_unused(matrix), gain, gains,
                   best, optima)
