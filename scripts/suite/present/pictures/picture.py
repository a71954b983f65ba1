# SPDX-License-Identifier: MIT
"""What pictures share: strings for gnuplot, titles, series, tics, and the figures behind bars.

A picture is the settings made here followed by a template, plots/KIND.gp, so that NAME.gp beside
NAME.dat draws it again with `gnuplot NAME.gp`.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from suite import stats
from suite.analyse.frame import Cell, Matrix, baseline_find, baseline_words
from suite.analyse.metrics import Metric
from suite.analyse.summary import Figure, figure_build
from suite.base.units import Scale, scale_choose
from suite.present.heading import congestion_text, known_text, machines_text, word_text

# Okabe and Ito's colours without yellow; from the eighth series on they return dashed.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
POINTS = (7, 5, 9, 11, 13, 15, 3, 6, 4, 8, 10, 12, 14, 1)
TEXT_COLUMNS = 70  # of the title of a picture in text
NOTE_MAX = 150  # characters of the small print
NAME_MAX = 32  # characters of the name of a bar or row
# Leading digits of tics, finest first; every range of a fifth or more has one of the finest.
DIGITS = ((1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2, 2.2, 2.4, 2.6, 2.8, 3, 3.2, 3.4, 3.6,
           3.8, 4, 4.5, 5, 5.5, 6, 6.5, 7, 7.5, 8, 8.5, 9, 9.5),
          (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))


@dataclass(frozen=True)
class Drawing:
    """One picture: NAME.dat and NAME.gp as text; template is the name of one in plots/."""

    name: str
    template: str
    data: str
    settings: str


@dataclass(frozen=True)
class Plan:
    """Bars or a curve with everything chosen. x: the axis along which it runs, None: plain bars.

    shaded: a curve on which the best of each line stands out, with what cannot be told apart from
    it.
    """

    kind: str
    metric: Metric
    x: str | None
    name: str
    shaded: bool = False


def x_value(cell: Cell, x: str) -> str:
    """The cell's word on the axis of a curve, which need not vary in this result."""
    return cell.words.get(x, "none")


def absence_text(cell: Cell) -> str:
    """Why a cell has nothing to draw, in a few words."""
    return cell.status if cell.status != "ok" else cell.emulated or "none"


def name_cut(name: str) -> str:
    """A name cut where it would leave no room for what it names."""
    return name if len(name) <= NAME_MAX else name[:NAME_MAX - 3] + "..."


def name_safe(text: str) -> str:
    """A file name of it."""
    return re.sub(r"[^A-Za-z0-9.+-]+", "_", text).strip("_")


def place_text(axes: Iterable[str], values: Iterable[str]) -> str:
    """Which cells a picture shows, in words; a word that they do not use is left out."""
    return " ".join(f"{axis}={value}" for axis, value in zip(axes, values, strict=True) if value)


def place_name(name: str, values: Iterable[str]) -> str:
    """The file name of the picture of those cells."""
    return name_safe("-".join([name, *filter(None, values)]))


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


def headline_text(matrix: Matrix, what: str, unit: str, better: str, place: str = "") -> str:
    """The title of a picture."""
    text = f"{matrix.result.name}: {', '.join(filter(None, (what.replace('_', ' '), unit)))}"
    return f"{text} ({better} is better)" + (f", {place}" if place else "")


def medians_text(matrix: Matrix, cells: Sequence[Cell], *metrics: Metric) -> str:
    """What a figure of bars and curves is, and of which cells it is not known in all rounds."""
    kind = "95 % interval" if matrix.rounds >= stats.ROUNDS_NEEDED else "min..max"
    known = [text for metric in metrics if (text := known_text(matrix, cells, metric))]
    return "; ".join([f"median of {rounds_text(matrix)}, {kind}", *known])


def rounds_text(matrix: Matrix) -> str:
    """How many rounds were counted."""
    return f"{matrix.rounds} round{'s' if matrix.rounds != 1 else ''}"


def note_text(matrix: Matrix, cells: Iterable[Cell], figures: str) -> str:
    """The small print of a picture: what its figures are, and what was measured where.

    Where there is no room for it all the names of processors go first, then placements that the
    picture shows itself.
    """
    place = f"place {word_text(cells, 'place')}; "
    congestion = f"congestion {congestion_text(matrix)}; "
    unnamed = machines_text(matrix, shorten=lambda processor: "")
    texts = [f"{figures}; {place}{congestion}{machines_text(matrix)}",
             f"{figures}; {place}{congestion}{unnamed}"]
    if "place" in matrix.axes:
        texts.append(f"{figures}; {congestion}{unnamed}")
    return next((text for text in texts if len(text) <= NOTE_MAX), texts[-1][:NOTE_MAX - 3] + "...")


def title_settings(headline: str, note: str) -> list[str]:
    """What stands above and below a picture, in text above it in several lines if it must."""
    lines = textwrap.wrap(headline, TEXT_COLUMNS)
    return [f"headline = {gnuplot_string(headline)}",
            "headline_text = " + '."\\n".'.join(map(gnuplot_string, lines)),
            f"note = {gnuplot_string(note)}"]


def series_settings(labels: Sequence[str]) -> list[str]:
    """Names, colours, points and dashes of the series."""
    count = len(labels)
    return [
        f"series = {count}", gnuplot_array("names", labels),
        gnuplot_array("colours", [COLOURS[i % len(COLOURS)] for i in range(count)]),
        gnuplot_array("points", [POINTS[i % len(POINTS)] for i in range(count)]),
        gnuplot_array("dashes", [1 + (i // len(COLOURS)) % 4 for i in range(count)]),
    ]


def round_numbers(low: float, high: float, most: int) -> list[float]:
    """At most that many round numbers from low to high (above 0), even on a logarithmic axis."""
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    for digits in DIGITS:
        tics = [float(f"{digit}e{decade}") for decade in decades for digit in digits]
        tics = [tic for tic in tics if low / 1.1 <= tic <= high * 1.1]
        if len(tics) <= most:
            break
    return tics[::-(-len(tics) // most)]


def ratio_tics(low: float, high: float, most: int) -> str:
    """At most that many round ratios from low to high, 1 among them, as gnuplot's list of tics."""
    return ", ".join(f'"{tic:g}x" {tic:g}' for tic in round_numbers(low, high, most))


def tics_settings(axis: str, **sets: Sequence[tuple[str, float]]) -> list[str]:
    """For each set of tics, (label, position), a macro with the gnuplot command for them."""
    commands = {name: ", ".join(f'"{label.replace("%", "%%")}" {at:g}' for label, at in labels)
                for name, labels in sets.items()}
    return [f"{name} = {gnuplot_string(f'set {axis}tics ({tics})')}"
            for name, tics in commands.items()]


def figures_of(matrix: Matrix, metric: Metric) -> dict[str, Figure]:
    """The figures of a metric by cell, with ratios to the baseline."""
    base = baseline_words(matrix)
    found = {cell.name: figure_build(matrix, cell, metric, baseline_find(matrix, cell, base))
             for cell in matrix.cells.values()}
    return {name: figure for name, figure in found.items() if figure is not None}


def figures_scale(figures: Mapping[str, Figure], metric: Metric) -> Scale:
    """One unit for all panels and series."""
    return scale_choose((figure.median for figure in figures.values()), metric.unit)
