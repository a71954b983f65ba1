# SPDX-License-Identifier: MIT
"""The text format of HdrHistogram for percentiles (.hgrm), which its plotters read: a histogram as
`uncork export` writes it, and the latencies of both sides of comparisons. Pure.

The levels are those of its PercentileIterator: STEPS_PER_HALF steps for each halving of the
distance to 100 %. A value is the upper end of its bin: TotalCount values are at most as large.
Requests that were never sent rank behind all others: the percentiles end below them, and a last
line counts them.
"""

import math
from collections.abc import Iterator, Sequence

from suite.base.errors import UsageError
from suite.base.units import share_text
from suite.decide.comparison.differences import times_check
from suite.decide.comparison.model import Comparison
from suite.observe.histogram import Histogram
from suite.observe.measured import histogram_of
from suite.present.comparison import HGRM_UNITS

STEPS_PER_HALF = 5
BUCKETS, SUB_BUCKETS = 58, 128  # common/measure/histogram.h as HdrHistogram counts it: 64 bits


def levels_iterate(histogram: Histogram) -> Iterator[tuple[float, float, int]]:
    """(value in ns, percent, number of values up to it); the last is the maximum, at 100 % if no
    value is beyond it."""
    level, seen = 0.0, 0
    for low, width, count in histogram.bins:
        seen += count
        while 100.0 * seen / histogram.total >= level:
            yield min(low + width - 1, histogram.maximum), level, seen
            halves = int(math.log2(100.0 / (100.0 - level))) + 1
            level += 100.0 / (STEPS_PER_HALF * 2**halves)
            if seen == histogram.count:
                break
    if histogram.count:
        yield histogram.maximum, 100.0 * histogram.count / histogram.total, histogram.count


def hgrm_text(histogram: Histogram, unit: str) -> str:
    """The table with its footer. For the deviation a value is the middle of its bin."""
    factor, decimals = HGRM_UNITS[unit]

    def number(value_ns: float) -> str:
        return f"{value_ns / factor:12.{decimals}f}"

    lines = [f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}", ""]
    for value, level, seen in levels_iterate(histogram):
        line = f"{number(value)} {level / 100:2.12f} {seen:10d}"
        lines.append(line if level == 100 else f"{line} {1 / (1 - level / 100):14.2f}")
    values = histogram.count or 1  # without a value all is 0, as HdrHistogram prints it
    mean = histogram.sum / values
    squares = sum(count * ((low + min(low + width - 1, histogram.maximum)) / 2 - mean) ** 2
                  for low, width, count in histogram.bins)
    deviation = math.sqrt(squares / values)
    lines += [
        f"#[Mean    = {number(mean)}, StdDeviation   = {number(deviation)}]",
        f"#[Max     = {number(histogram.maximum)}, Total count    = {histogram.count:12d}]",
        f"#[Buckets = {BUCKETS:12d}, SubBuckets     = {SUB_BUCKETS:12d}]",
    ]
    if histogram.beyond:
        lines.append(f"#[Never sent = {histogram.beyond} of {histogram.total} due "
                     f"({share_text(histogram.beyond / histogram.total)}), ranked last]")
    return "\n".join(lines) + "\n"


def render(comparisons: Sequence[Comparison]) -> str:
    """For each cell a table of the latencies of its counted rounds, merged, below a line with its
    side and row. It shows how all requests are distributed, not how certain a median is. A base
    that comparisons share has one table. UsageError where no run has latencies."""
    tables: dict[str, None] = {}
    for comparison in comparisons:
        times_check(comparison, "--hgrm")
        for row, side, cell in comparison.cells():
            histogram = histogram_of(side.matrix.runs_good(cell.name), "latency")
            if histogram is not None:
                words = [f"{axis}={value or 'none'}" for axis, value in row.axes.items()]
                head = f"# {' '.join([side.name, *words])}: latency in us\n"
                tables[head + hgrm_text(histogram, "us")] = None
    if not tables:
        raise UsageError("--hgrm: no run of these cells has latencies")
    return "\n\n".join(tables)
