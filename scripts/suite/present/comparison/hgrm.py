# SPDX-License-Identifier: MIT
"""Latencies of both sides as HdrHistogram text: tables with two empty lines between them. A table
merges the histograms of the counted rounds of a cell. It shows how all requests are distributed,
not how certain a median is. `uncork export` writes the same tables as files."""

from collections.abc import Sequence

from suite.base.errors import UsageError
from suite.decide.comparison.differences import times_check
from suite.decide.comparison.model import Comparison
from suite.observe.measured import histogram_of
from suite.present.hgrm import hgrm_text

OF, UNIT = "latency", "us"


def render(comparisons: Sequence[Comparison]) -> str:
    """A table for each cell with latencies, below a line with its side and row. A base that
    comparisons share has one table. UsageError where no run has latencies."""
    tables: dict[str, None] = {}
    for comparison in comparisons:
        times_check(comparison, "--hgrm")
        for row, side, cell in comparison.cells():
            histogram = histogram_of(side.matrix.runs_good(cell.name), OF)
            if histogram is not None:
                words = [f"{axis}={value or 'none'}" for axis, value in row.axes.items()]
                head = f"# {' '.join([side.name, *words])}: {OF} in {UNIT}\n"
                tables[head + hgrm_text(histogram, UNIT)] = None
    if not tables:
        raise UsageError(f"--hgrm: no run of these cells has {OF}")
    return "\n\n".join(tables)
