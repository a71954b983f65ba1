# SPDX-License-Identifier: MIT
"""The text format of HdrHistogram for percentiles (.hgrm), which its plotters read. Pure. The
levels are those of its PercentileIterator: STEPS_PER_HALF steps for each halving of the distance to
100 %. A value is the upper end of its bin: TotalCount values are at most as large. Requests that
were never sent rank behind all others: the percentiles end below them, and a last line counts them.
"""

import math
from collections.abc import Iterator

from suite.base.units import share_text
from suite.observe.histogram import Histogram

HGRM_UNITS = {"ns": (1, 3), "us": (10**3, 3), "ms": (10**6, 6), "s": (10**9, 9)}  # ns, decimals
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
