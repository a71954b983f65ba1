# SPDX-License-Identifier: MIT
"""Histograms of cells: the good runs of a cell read again, their histograms merged."""

from __future__ import annotations

from collections.abc import Sequence

from suite.analyse.frame import Matrix
from suite.analyse.measured import MeasuredRun
from suite.stats.histogram import Histogram, histograms_merge


def runs_good(matrix: Matrix, cell: str) -> list[MeasuredRun]:
    """The good counted runs of a cell; none where its times say nothing.

    Their records are read again, because a histogram is no figure of a frame.
    """
    return [] if matrix.cells[cell].emulated else [MeasuredRun(record)
                                                     for record in matrix.records_good(cell)]


def histogram_of(runs: Sequence[MeasuredRun], name: str) -> Histogram | None:
    """One histogram, name of HISTOGRAMS, of all runs that have it."""
    return histograms_merge([found for run in runs if (found := run.histograms[name])])
