# SPDX-License-Identifier: MIT
"""What pictures of comparisons use: the comparisons, names of sides, changes as short texts."""

from collections.abc import Sequence
from itertools import product

from suite import stats
from suite.base import grouped
from suite.base.errors import UsageError
from suite.base.units import change_texts, counted_text, interval_text
from suite.base.words import words_text
from suite.contrast.contrast import Status, Verdict
from suite.decide.comparison.build import compare_baseline
from suite.decide.comparison.model import Comparison, Row, Side
from suite.observe.frame import Matrix
from suite.observe.metrics import Metric
from suite.present.heading import coverage_text
from suite.present.judged import judged_marked, marked
from suite.present.pictures import parts
from suite.scenario.scenario import Picture


def baseline_comparisons(matrix: Matrix, picture: Picture) -> list[Comparison]:
    """The baseline against each other value of its axis. UsageError if there is none."""
    found = compare_baseline(matrix, (parts.picture_metric(matrix, picture),))
    if not found:
        raise UsageError(f"picture: {picture.kind}: nothing stands beside a baseline here: "
                         "it needs baseline=WORD=VALUE and another value of that word")
    return found


def side_value(side: Side) -> str:
    return " ".join(side.words.values()) or side.name


def base_name(comparisons: Sequence[Comparison]) -> str:
    """The name of the base; its words if several comparisons share it."""
    base = comparisons[0].base
    return words_text(base.words) if len(comparisons) > 1 else base.name


def absent_text(row: Row, metric: Metric) -> str:
    """Why a row has no ratio, in a word or two."""
    for cell in (row.new, row.base):
        if cell is None:
            return "no cell"
        if cell.status != "ok" or cell.hides(metric):
            return parts.absence_text(cell)
    change = row.changes.get(metric.name)
    if change is None or change.contrast.status is Status.ABSENT:
        return "n/a"
    return "zero" if change.contrast.exact else judged_marked("", change.judged)


def estimate_texts(estimate: stats.Estimate, verdict: Verdict, status: Status = Status.OK
                   ) -> tuple[str, str]:
    """A change with its mark, or an arrow if only the direction is known; and its interval."""
    if estimate.directed:
        arrow = ("larger ->" if estimate.value > 1 else
                 "<- smaller" if estimate.value < 1 else "either")
        return marked(arrow, verdict, status), ""
    texts = change_texts(*estimate.span)
    return (marked(texts[0], verdict, status),
            "" if verdict is Verdict.WITHHELD else interval_text(texts))


def note_text(comparisons: Sequence[Comparison], figures: str) -> str:
    """The small print. figures: what its ratios are."""
    matrix = comparisons[0].base.matrix
    kind = "paired ratios" if all(one.paired for one in comparisons) else "ratios"
    shown = grouped(((id(side.matrix), metric), (side.matrix, cell)) for one in comparisons
                    for (_, side, cell), metric in product(one.cells(), one.metrics))
    coverage = (coverage_text(cells[0][0], {cell.name: cell for _, cell in cells}.values(), metric)
                for (_, metric), cells in shown.items())
    texts = [f"{kind}{figures}, {counted_text(matrix.rounds, 'round')}", *filter(None, coverage)]
    return parts.note_text(matrix, matrix.cells.values(), "; ".join(texts))
