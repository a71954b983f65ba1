# SPDX-License-Identifier: MIT
"""Latencies of both sides as HdrHistogram text, one table after the other, two empty lines between
them.

These are all requests of a cell, the histograms of its counted rounds merged: where they lie, not
how sure a median is. `uncork export` writes the same as files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from suite.analyse.comparison.differences import times_check
from suite.analyse.comparison.model import Comparison
from suite.analyse.histograms import histogram_of, runs_good
from suite.base.errors import UsageError
from suite.present.hgrm import hgrm_text

OF, UNIT = "latency", "us"


def histogram_tables(comparison: Comparison) -> Iterator[str]:
    """A table for each cell that has latencies, its side and row above it."""
    times_check(comparison, "--hgrm")
    for row, side, cell in comparison.cells():
        histogram = histogram_of(runs_good(side.matrix, cell.name), OF)
        words = [f"{axis}={value or 'none'}" for axis, value in row.axes.items()]
        if histogram is not None:
            yield f"# {' '.join([side.name, *words])}: {OF} in {UNIT}\n{hgrm_text(histogram, UNIT)}"


def render(comparisons: Sequence[Comparison]) -> str:
    """All tables, each once: a base that several comparisons share too; UsageError where no run has
    latencies."""
    tables = list(dict.fromkeys(table for one in comparisons for table in histogram_tables(one)))
    if not tables:
        raise UsageError(f"--hgrm: no run of these cells has {OF}")
    return "\n\n".join(tables)
