# SPDX-License-Identifier: MIT
"""What pictures of comparisons use: the comparisons, names of sides, changes as short texts."""

from collections.abc import Iterable, Sequence
from itertools import product

from suite import stats
from suite.base import grouped
from suite.base.errors import UsageError
from suite.base.units import change_texts, counted_text, interval_text
from suite.base.words import words_text
from suite.contrast.contrast import Status, Verdict
from suite.decide.comparison.build import compare_baseline
from suite.decide.comparison.model import Change, Comparison, Row, Side
from suite.observe.frame import Matrix
from suite.observe.metrics import Metric
from suite.present.heading import coverage_text
from suite.present.judged import judged_marked, marked
from suite.present.pictures import parts
from suite.present.pictures.canvas import Canvas
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


def change_of(row: Row, metric: Metric) -> Change | None:
    change = row.changes.get(metric.name)
    return change if change and change.ratio else None


def absent_text(row: Row, metric: Metric) -> str:
    """Why a row has no ratio, in a word or two."""
    for cell in (row.new, row.base):
        if cell is None:
            return "no cell"
        if cell.status != "ok":
            return {"unsupported": "-", "missing": "not run"}.get(cell.status, cell.status)
        if cell.hides(metric):
            return cell.emulated
    change = row.changes.get(metric.name)
    if change is None or change.contrast.status is Status.ABSENT:
        return "n/a"
    return "zero" if change.contrast.exact else judged_marked("", change.judged)


def absent_signs(texts: Iterable[str]) -> list[str]:
    """The legend of `-`, if one of these texts is that."""
    return ["-: unsupported"] if "-" in texts else []


def estimate_marked(estimate: stats.Estimate, verdict: Verdict, status: Status = Status.OK) -> str:
    """A change with its mark and interval, or an arrow if only the direction is known."""
    if estimate.directed:
        return marked("larger ->" if estimate.value > 1 else
                      "<- smaller" if estimate.value < 1 else "either", verdict, status)
    texts = change_texts(*estimate.span)
    interval = "" if verdict is Verdict.WITHHELD else interval_text(texts)
    return f"{marked(texts[0], verdict, status)} {interval}".rstrip()


def coverage_texts(comparisons: Sequence[Comparison]) -> list[str]:
    found = grouped(((id(side.matrix), metric), (side.matrix, cell)) for one in comparisons
                    for (_, side, cell), metric in product(one.cells(), one.metrics))
    texts = (coverage_text(cells[0][0], {cell.name: cell for _, cell in cells}.values(), metric)
             for (_, metric), cells in found.items())
    return [text for text in texts if text]


def titles(canvas: Canvas, body: int, comparisons: Sequence[Comparison], what: str, figures: str,
           signs: Sequence[str], signs_text: Sequence[str], place: str = "", least: int = 0
           ) -> dict[str, object]:
    """The settings for headline, signs and small print. figures: what its ratios are."""
    matrix = comparisons[0].base.matrix
    kind = "paired ratios" if all(one.paired for one in comparisons) else "ratios"
    texts = [f"{kind}{figures}, {counted_text(matrix.rounds, 'round')}",
             *coverage_texts(comparisons)]
    return canvas.titles(body, parts.headline_text(matrix, what, place),
                       parts.note_text(matrix, matrix.cells.values(), "; ".join(texts)),
                       signs, signs_text, least)
