# SPDX-License-Identifier: MIT
"""Comparisons in the text format of Go's benchmarks, for `benchstat -col /side`.

benchstat takes each line for an independent value. So a line is a round, or a boot where each round
boots the kernel. Of two results it is a session, with the median of its rounds. benchstat tests the
sides as if they shared no round. The format: golang.org/design/14313-benchmark-format and
golang.org/x/perf/benchfmt.
"""

import re
from collections.abc import Iterator, Sequence

import pandas as pd

from suite.contrast.contrast import Verdict
from suite.decide.comparison.model import Comparison, Row
from suite.observe.metrics import Metric

UNITS = {"s": "sec", "1": ""}  # units for which benchstat has another name, by which it scales


def unit_text(metric: Metric) -> str:
    """A metric as a unit of benchstat: `latency_p50-sec`, `segments_per_message`."""
    unit = UNITS.get(metric.unit, metric.unit)
    return f"{metric.name}-{unit}" if unit else metric.name


def units_lines(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """For each metric which direction is better, and whether it is exact: the same in every run."""
    for metric in dict.fromkeys(metric for one in comparisons for metric in one.metrics):
        verdicts = {change.verdict for one in comparisons for change in one.changes(metric.name)}
        exact = " assume=exact" if verdicts == {Verdict.EXACT} else ""
        yield f"Unit {unit_text(metric)} better={metric.better}{exact}"


def name_part(text: str) -> str:
    """A part of the name of a benchmark, without blanks and without `/`, which separates parts."""
    return re.sub(r"[\s/]+", "_", text) or "none"


def benchmark_name(comparison: Comparison, row: Row, side: str) -> str:
    """`BenchmarkNodelay/place=apart/side=base`. A number at its end would be a number of CPUs."""
    run = name_part(comparison.base.matrix.result.scenario.name or "uncork")
    parts = [f"{axis}={name_part(value)}" for axis, value in row.axes.items()]
    return "/".join([f"Benchmark{run[0].upper()}{run[1:]}", *parts, f"side={side}"])


def row_lines(comparison: Comparison, row: Row) -> Iterator[str]:
    """The lines of one row. base and new alternate, as they did in the rounds. A metric with a
    bound, which benchstat would take for a value, has a line that benchstat skips."""
    changes = {metric: row.changes[metric.name].contrast for metric in comparison.metrics
               if metric.name in row.changes}
    for metric, contrast in changes.items():
        if contrast.censored:
            yield (f"# left out: {unit_text(metric)} of {benchmark_name(comparison, row, '*')}: "
                   "in some round only a lower bound is known")
    values = {side: pd.DataFrame({unit_text(metric): getattr(contrast, side).by_round
                                  for metric, contrast in changes.items() if not contrast.censored})
              for side in ("base", "new")}
    for place in range(max(map(len, values.values()))):
        for side, frame in values.items():
            if place < len(frame):
                known = frame.iloc[place].dropna()
                figures = " ".join(f"{value:.10g} {unit}" for unit, value in known.items())
                yield f"{benchmark_name(comparison, row, side)} 1 {figures}"


def render(comparisons: Sequence[Comparison]) -> str:
    """All comparisons, which benchstat separates by the lines `base:` and `new:`."""
    lines = list(units_lines(comparisons))
    for one in comparisons:
        lines += ["", f"base: {one.base.name}", f"new: {one.new.name}",
                  f"each-line: {one.unit.value}", ""]
        lines += [line for row in one.rows for line in row_lines(one, row)]
    return "\n".join(lines) + "\n"
