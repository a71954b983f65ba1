# SPDX-License-Identifier: MIT
"""Counts: segments, records and calls beside each other, the proof that a strategy does what its
name says.

Bars of which every panel is another metric. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from suite.analyse.frame import Matrix, baseline_words
from suite.analyse.metrics import METRICS, Metric
from suite.analyse.summary import Figure, metrics_default
from suite.base.errors import UsageError
from suite.base.units import Scale
from suite.present.pictures.bars import (
    Panel,
    bars_settings,
    panel_data,
    panel_limit,
    panel_reach,
    panels_make,
)
from suite.present.pictures.picture import Drawing, Plan, figures_of, place_name

COUNT = Scale(1.0, "")


def metrics_counted(matrix: Matrix) -> list[Metric]:
    """The metrics of the result's table that count events and have a value; UsageError without
    any."""
    table = matrix.result.scenario.table
    names = [name for name in (table.columns if table else ())
             if name in METRICS] or metrics_default(matrix)
    found = [METRICS[name] for name in names if METRICS[name].counts
             and matrix.values[name].notna().any()]
    if not found:
        raise UsageError(
            "picture: counts: nothing was counted here: none of these is a count with a value: "
                         + ", ".join(names))
    return found


def counts_draw(matrix: Matrix, plan: Plan) -> list[Drawing]:
    """A picture for each panel that bars would have; in it a panel for each metric."""
    counted = {metric.name: figures_of(matrix, metric) for metric in metrics_counted(matrix)}
    return [counts_build(matrix, plan.name, place, counted) for place in panels_make(matrix, plan)]


def counts_build(matrix: Matrix, name: str, place: Panel,
                 counted: Mapping[str, Mapping[str, Figure]]) -> Drawing:
    """The picture of some cells."""
    base, blocks, panels, tops = baseline_words(matrix), [], [], []
    for metric, figures in counted.items():
        panel = replace(place, head=metric.replace("_", " "))
        limit = panel_limit([figures[cell.name].median for _, cell in panel.rows
                             if cell.name in figures])
        blocks.append(panel_data(panel, figures, METRICS[metric], COUNT, limit, base))
        panels.append(panel)
        tops.append(1.45 * panel_reach(panel, figures, COUNT, limit))
    full = place_name(name, [word.partition("=")[2] for word in place.head.split()])
    headline = f"{matrix.result.name}: what was counted" + (f", {place.head}" if place.head else "")
    settings = bars_settings(matrix, [METRICS[metric] for metric in counted], headline, "how many",
                             panels, tops, full, False)
    return Drawing(full, "bars", "\n\n".join(blocks), settings)
