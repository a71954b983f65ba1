# SPDX-License-Identifier: MIT
"""What pictures of comparisons share: the sides by name, and a change as the few characters that
have room."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from suite import stats
from suite.analyse.comparison.model import Change, Comparison, Row, Side
from suite.analyse.metrics import Metric
from suite.analyse.verdicts import Verdict
from suite.present.heading import known_text
from suite.present.pictures.picture import TEXT_COLUMNS, note_text, rounds_text, title_settings


@dataclass(frozen=True)
class Versus:
    """A picture of comparisons with everything chosen. x: the axis that names the columns of a heat
    map."""

    metric: Metric
    x: str | None
    name: str


def side_value(side: Side) -> str:
    """What a side is called where its words are already named: `cork`."""
    return " ".join(side.words.values()) or side.name


def side_axis(side: Side) -> str:
    """The words of a side: `write`; of a whole result `result`."""
    return " ".join(side.words) or "result"


def base_name(comparisons: Sequence[Comparison]) -> str:
    """What all of these are compared with: of several within a result the words that all of them
    share."""
    base = comparisons[0].base
    return " ".join(f"{key}={value}"
                    for key, value in base.words.items()) if len(comparisons) > 1 else base.name


def change_of(row: Row, metric: Metric) -> Change | None:
    """The change of a row if it has a ratio."""
    change = row.changes.get(metric.name)
    return change if change and change.ratio else None


def absent_text(row: Row, metric: Metric) -> str:
    """Why a row has no ratio, in a word."""
    for cell in (row.new, row.base):
        if cell is None:
            return "no cell"
        if cell.status != "ok":
            return {"unsupported": "-", "missing": "not run"}.get(cell.status, cell.status)
        if cell.emulated and metric.timed:
            return cell.emulated
    change = row.changes.get(metric.name)
    return "zero" if change and 0 in (change.base.median, change.new.median) else "n/a"


def change_marked(verdict: Verdict, text: str) -> str:
    """A figure with what may be said of it; `~` stands alone. A direction has an arrow."""
    if verdict is Verdict.SAME:
        return verdict.value
    return f"({text})" if verdict is Verdict.BRACKETED else text + "?" * (
        verdict is Verdict.UNKNOWN)


def direction_text(estimate: stats.Estimate) -> str:
    """A ratio of which only the direction is known."""
    return "larger ->" if estimate.value > 1 else "<- smaller" if estimate.value < 1 else "either"


def estimate_marked(estimate: stats.Estimate, verdict: Verdict,
                    text: Callable[[float], str]) -> str:
    """A centre with what may be said of it, and its interval; of a direction only that, with an
    arrow."""
    if estimate.directed:
        return change_marked(verdict, direction_text(estimate))
    within, centre = estimate.interval, change_marked(verdict, text(estimate.value))
    return f"{centre} [{text(within.low)}, {text(within.high)}]" if within else centre


def known_texts(comparisons: Sequence[Comparison]) -> list[str]:
    """Which cells of these comparisons know their metrics in a part of their rounds only."""
    found = {(id(side.matrix), metric): (side.matrix, {}) for one in comparisons
             for side in (one.base, one.new)
             for metric in one.metrics}
    for one in comparisons:
        for side, cells in ((one.base, [row.base for row in one.rows]),
                            (one.new, [row.new for row in one.rows])):
            for metric in one.metrics:
                found[id(side.matrix), metric][1].update({cell.name: cell for cell in cells
                                                          if cell})
    texts = (known_text(matrix, cells.values(), metric)
             for (_, metric), (matrix, cells) in found.items())
    return [text for text in texts if text]


def versus_titles(comparisons: Sequence[Comparison], what: str, figures: str,
                  place: str = "") -> list[str]:
    """What stands above and below a picture: what it shows, what its figures are, what was measured
    where."""
    matrix = comparisons[0].base.matrix
    headline = f"{matrix.result.name}: {what}" + (f", {place}" if place else "")
    kind = "paired ratios" if all(one.paired for one in comparisons) else "ratios"
    known = "".join(f"; {text}" for text in known_texts(comparisons))
    note = note_text(matrix, matrix.cells.values(),
                     f"{kind}{figures}, {rounds_text(matrix)}{known}")
    lines = len(textwrap.wrap(headline, TEXT_COLUMNS))
    return [*title_settings(headline, note), f"title_lines = {lines}"]
