# SPDX-License-Identifier: MIT
"""Latencies of both sides as HdrHistogram text, one table after the other, two empty lines between
them. These are all requests of a cell, the histograms of its counted rounds merged: where they lie,
not how sure a median is. `uncork export` writes the same as files."""

from collections.abc import Sequence

from suite.analyse.comparison.differences import times_check
from suite.analyse.comparison.model import Comparison
from suite.analyse.measured import histogram_of
from suite.base.errors import UsageError
from suite.present.hgrm import hgrm_text

OF, UNIT = "latency", "us"


def render(comparisons: Sequence[Comparison]) -> str:
    """A table for each cell that has latencies, its side and row above it, also of a shared base
    only once; UsageError where no run has any."""
    tables: dict[str, None] = {}
    for one in comparisons:
        times_check(one, "--hgrm")
        for row, side, cell in one.cells():
            histogram = histogram_of(side.matrix.runs_good(cell.name), OF)
            if histogram is not None:
                words = [f"{axis}={value or 'none'}" for axis, value in row.axes.items()]
                head = f"# {' '.join([side.name, *words])}: {OF} in {UNIT}\n"
                tables[head + hgrm_text(histogram, UNIT)] = None
    if not tables:
        raise UsageError(f"--hgrm: no run of these cells has {OF}")
    return "\n\n".join(tables)
