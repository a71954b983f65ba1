# SPDX-License-Identifier: MIT
"""What bars and curves share: strings for gnuplot, titles, and the figures behind a picture.

A picture is the settings made here followed by a template, plots/bars.gp or plots/curve.gp, so
that NAME.gp beside NAME.dat draws it again with `gnuplot NAME.gp`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from suite import stats
from suite.frame import Cell, Matrix, baseline_find, baseline_words
from suite.heading import congestion_text, machines_text, word_text
from suite.metrics import Metric
from suite.summary import Figure, figure_build
from suite.units import Scale, scale_choose


@dataclass(frozen=True)
class Drawing:
    """One picture: NAME.dat and NAME.gp as text; template is `bars` or `curve`."""

    name: str
    template: str
    data: str
    settings: str


@dataclass(frozen=True)
class Plan:
    """A picture with everything chosen. x: the axis along which it runs; None for plain bars."""

    kind: str
    metric: Metric
    x: str | None
    name: str


def x_value(cell: Cell, x: str) -> str:
    """The cell's word on the axis of a curve, which need not vary in this result."""
    return cell.words.get(x, "none")


def name_safe(text: str) -> str:
    """A file name of it."""
    return re.sub(r"[^A-Za-z0-9.+-]+", "_", text).strip("_")


def gnuplot_string(text: str) -> str:
    """A gnuplot string in single quotes, in which only a quote is special."""
    return "'" + text.replace("'", "''") + "'"


def gnuplot_array(name: str, values: Sequence[object]) -> str:
    """An array of strings or numbers."""
    items = (gnuplot_string(v) if isinstance(v, str) else f"{v}" for v in values)
    return f"array {name}[{len(values)}] = [{', '.join(items)}]"


def number_data(value: float | None) -> str:
    """A number of a .dat file; unknown is NaN, which gnuplot leaves out."""
    return "NaN" if value is None or not math.isfinite(value) else f"{value:.6g}"


def headline_text(matrix: Matrix, metric: Metric, unit: str, place: str = "") -> str:
    """The title of a picture."""
    parts = [metric.name.replace("_", " "), unit]
    text = f"{matrix.result.name}: {', '.join(part for part in parts if part)}"
    return f"{text} ({metric.better} is better)" + (f", {place}" if place else "")


def note_text(matrix: Matrix) -> str:
    """The small print of a picture."""
    rounds = matrix.rounds
    kind = "95 % interval" if rounds >= stats.ROUNDS_NEEDED else "min..max"
    text = (f"median of {rounds} round{'s' if rounds != 1 else ''}, {kind}; "
            f"place {word_text(matrix, 'place')}; congestion {congestion_text(matrix)}; "
            f"{machines_text(matrix)}")
    return text if len(text) <= 150 else text[:147] + "..."


def figures_of(matrix: Matrix, metric: Metric) -> dict[str, Figure]:
    """The figures of a metric by cell, with ratios to the baseline."""
    base = baseline_words(matrix)
    found = {cell.name: figure_build(matrix, cell, metric, baseline_find(matrix, cell, base))
             for cell in matrix.cells.values()}
    return {name: figure for name, figure in found.items() if figure is not None}


def figures_scale(figures: Mapping[str, Figure], metric: Metric) -> Scale:
    """One unit for all panels and series."""
    return scale_choose((figure.median for figure in figures.values()), metric.unit)
