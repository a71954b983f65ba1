# SPDX-License-Identifier: MIT
"""Forest plot: the ratio of each row with its interval; its A/A interval is shaded. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from suite import stats
from suite.base.errors import UsageError
from suite.base.units import change_texts, counted_text, interval_text
from suite.base.words import words_text
from suite.contrast.contrast import Status, Verdict
from suite.decide.comparison.build import compare_baseline
from suite.decide.comparison.model import Comparison, Row
from suite.observe.frame import Matrix
from suite.observe.metrics import Metric
from suite.present.comparison import wording
from suite.present.heading import coverage_text
from suite.present.judged import marked
from suite.present.pictures import parts
from suite.present.pictures.canvas import Sign, canvas_of
from suite.scenario.scenario import Picture

ROWS_MAX = 36  # rows of a picture; further comparisons go into another picture
FILLED, HOLLOW, DIAMOND, HEADING = 7, 6, 13, -1  # types of points
HEIGHTS = 24, 18  # of a line in units: wanted, needed
AROUND_UNITS = 66  # the axis of ratios and its label
INTERVALS_LEAST = 700  # in a narrower picture intervals are only drawn


class ForestRow(NamedTuple):
    """One line. mark: the ratio as text, or why there is none. span: the ratio and its interval, if
    it is drawn. point: its type, or HEADING. floor: the A/A interval."""

    name: str
    mark: str = ""
    interval: str = ""
    span: tuple[float | None, ...] = (None,) * 3
    point: int = 0
    floor: float | None = None
    verdict: Verdict | None = None

    def line(self, at: int) -> parts.Row:
        return at, *self.span, self.point, self.floor, self.name, self.mark, self.interval


def estimate_texts(estimate: stats.Estimate, verdict: Verdict, status: Status = Status.OK
                   ) -> tuple[str, str]:
    """A change with its mark, and its interval if it is known and claimed."""
    texts = change_texts(*estimate.span)
    return (marked(texts[0], verdict, status),
            "" if verdict is Verdict.WITHHELD else interval_text(texts))


def row_make(row: Row, name: str, metric: Metric) -> ForestRow:
    change = row.changes.get(metric.name)
    if change is None or change.ratio is None:
        return ForestRow(name, parts.unjudged_text(
            (row.new, row.base), change.judged if change else None, metric.timed))
    texts = estimate_texts(change.ratio, change.verdict, change.contrast.status)
    if change.ratio.directed or change.verdict is Verdict.WITHHELD:
        return ForestRow(name, *texts, verdict=change.verdict)
    return ForestRow(name, *texts, parts.ratio_span(change.ratio),
                     FILLED if change.verdict.claims else HOLLOW, change.same, change.verdict)


def rows_make(comparison: Comparison, metric: Metric, most: int) -> list[ForestRow]:
    """The rows of a comparison and their geometric mean. most: the longest name in characters."""
    both = [row for row in comparison.rows if row.base and row.new]
    names = parts.words_names([row.axes for row in both], most)
    rows = [row_make(row, name, metric) for row, name in zip(both, names, strict=True)]
    mean = comparison.geomeans.get(metric.name)
    if mean is not None:
        rows.append(ForestRow(wording.mean_size(comparison, mean),
                              *estimate_texts(mean.ratio, mean.verdict),
                              parts.ratio_span(mean.ratio), DIAMOND))
    elif opposed := wording.opposed_of(comparison, metric):
        rows.append(ForestRow(wording.MEAN, opposed.partition(":")[0]))
    return rows


def groups_make(comparisons: Sequence[Comparison], metric: Metric, most: int
                ) -> list[list[ForestRow]]:
    """The rows of each comparison below a heading, which says the other side. One comparison needs
    no heading, and comparisons of one row each become one group."""
    groups = [rows_make(one, metric, most) for one in comparisons]
    heads = [parts.name_cut(" ".join(one.new.words.values()) or one.new.name, most)
             for one in comparisons]
    if all(len(rows) == 1 for rows in groups):
        return [[row._replace(name=head) for head, (row,) in zip(heads, groups, strict=True)]]
    if len(groups) == 1:
        return groups
    return [[ForestRow(head, point=HEADING), *rows]
            for head, rows in zip(heads, groups, strict=True)]


def forest_draw(comparisons: Sequence[Comparison], picture: Picture) -> list[parts.Drawing]:
    """The forest plot of these comparisons by their first metric; several pictures for more than
    ROWS_MAX rows."""
    first, is_alone, canvas = comparisons[0], len(comparisons) == 1, canvas_of(picture)
    metric, matrix = first.metrics[0], first.base.matrix
    groups = groups_make(comparisons, metric, canvas.name_most)
    base = first.base.name if is_alone else words_text(first.base.words)
    axis = parts.ratio_axis(end for rows in groups for row in rows for end in row.span)
    axis["label_x"] = f"ratio to {parts.name_cut(base)}"
    side = f" of {first.new.name}" if is_alone else ""
    what = f"{metric.text}{side} against {base} ({metric.better} is better)"
    paired = "paired " * all(one.paired for one in comparisons)
    rounds = counted_text(matrix.rounds, "round")
    page = parts.page_make(matrix, picture, metric.name, {}, matrix.cells.values())
    new = first.new.matrix
    lacking = "" if new is matrix else coverage_text(new, new.cells.values(), metric)
    note = page.note("; ".join(filter(None, (f"{paired}ratios, 95 % interval, {rounds}", lacking))),
                     metric)
    return [forest_drawing(part, what, note, axis, some)
            for part, some in page.divide(groups, len, ROWS_MAX + 1)]


def forest_drawing(page: parts.Page, what: str, note: str, axis: Mapping[str, Any],
                   groups: Sequence[Sequence[ForestRow]]) -> parts.Drawing:
    """One picture of these groups, with a blank line between them."""
    rows = [row for group in groups for row in (*group, ForestRow(""))][:-1]
    signs = [Sign("", "---", "95 % interval"),
             *parts.floor_signs("shaded", "| |", [row.floor for row in rows if row.floor]),
             *[Sign("diamond", "#", "geometric mean")] * any(
                 row.point == DIAMOND for row in rows),
             *[Sign("hollow", "", "no change is claimed")] * any(
                 row.point == HOLLOW for row in rows),
             *parts.verdict_signs({row.verdict for row in rows})]
    block: parts.Block = ["rows", *(row.line(at) for at, row in enumerate(rows))]
    return page.drawing("forest", [block], what, note, signs, HEIGHTS, {
        **axis, "lines": len(rows),
        "widest": max(len(row.name) for row in rows if row.point != HEADING),
        "intervals": page.canvas.width >= INTERVALS_LEAST,
        "mark_columns": max(len(row.mark) for row in rows),
        "value_columns": max(len(f"{row.mark} {row.interval}") for row in rows)},
        len(rows), AROUND_UNITS)


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    """The baseline against each other value of its axis."""
    comparisons = compare_baseline(matrix, (parts.picture_metric(matrix, picture),))
    if not comparisons:
        raise UsageError(f"picture: {picture.kind}: {parts.NO_BASELINE}")
    return forest_draw(comparisons, picture)
