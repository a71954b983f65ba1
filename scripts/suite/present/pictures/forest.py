# SPDX-License-Identifier: MIT
"""Forest plot: the ratio of each row with its interval; its A/A interval is shaded. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from suite import stats
from suite.contrast.contrast import Verdict
from suite.decide.comparison.model import Comparison, Row
from suite.observe.frame import Matrix
from suite.observe.metrics import Metric
from suite.present.comparison import wording
from suite.present.pictures import compared, parts
from suite.present.pictures.canvas import Canvas, Sign, canvas_of
from suite.scenario.scenario import Picture

ROWS_MAX = 36  # rows of a picture; further comparisons go into another picture
GEOMEAN_POINT, HEADING_POINT = 13, -1
ROW_UNITS, ROW_LEAST = 24, 18  # the height of a line in units: wanted, needed
AROUND_UNITS = 66  # the axis of ratios and its label
INTERVALS_LEAST = 700  # in a narrower picture intervals are only drawn


class ForestRow(NamedTuple):
    """One line. mark: the ratio as text, or why there is none. estimate: if it is drawn. point: its
    type, or HEADING_POINT. floor: the A/A interval."""

    name: str
    mark: str = ""
    interval: str = ""
    estimate: stats.Estimate | None = None
    point: int = 0
    floor: float | None = None
    verdict: Verdict | None = None

    def line(self, at: int) -> parts.Row:
        value, low, high, *_ = *(self.estimate.span if self.estimate else ()), None, None, None
        return (at, value, low, high, self.point, self.floor, self.name, self.mark, self.interval)


def row_make(row: Row, name: str, metric: Metric) -> ForestRow:
    change = row.changes.get(metric.name)
    if change is None or change.ratio is None:
        return ForestRow(name, compared.absent_text(row, metric))
    texts = compared.estimate_texts(change.ratio, change.verdict, change.contrast.status)
    if change.ratio.directed or change.verdict is Verdict.WITHHELD:
        return ForestRow(name, *texts, verdict=change.verdict)
    return ForestRow(name, *texts, change.ratio, parts.POINT_SIGNS[change.verdict][0], change.same,
                     change.verdict)


def rows_make(comparison: Comparison, metric: Metric, most: int) -> list[ForestRow]:
    """The rows of a comparison and their geometric mean. most: the longest name in characters."""
    both = [row for row in comparison.rows if row.base and row.new]
    names = parts.words_names([row.axes for row in both], most)
    rows = [row_make(row, name, metric) for row, name in zip(both, names, strict=True)]
    mean = comparison.geomeans.get(metric.name)
    if mean is not None:
        rows.append(ForestRow(wording.mean_size(comparison, mean),
                              *compared.estimate_texts(mean.ratio, mean.verdict), mean.ratio,
                              GEOMEAN_POINT))
    elif opposed := wording.opposed_of(comparison, metric):
        rows.append(ForestRow(wording.MEAN, opposed.partition(":")[0]))
    return rows


def groups_make(comparisons: Sequence[Comparison], metric: Metric, most: int
                ) -> list[list[ForestRow]]:
    """The rows of each comparison below a heading, which says the other side. One comparison needs
    no heading, and comparisons of one row each become one group."""
    groups = [rows_make(one, metric, most) for one in comparisons]
    heads = [parts.name_cut(compared.side_value(one.new), most) for one in comparisons]
    if all(len(rows) == 1 for rows in groups):
        return [[row._replace(name=head) for head, (row,) in zip(heads, groups, strict=True)]]
    if len(groups) == 1:
        return groups
    return [[ForestRow(head, point=HEADING_POINT), *rows]
            for head, rows in zip(heads, groups, strict=True)]


def forest_draw(comparisons: Sequence[Comparison], picture: Picture) -> list[parts.Drawing]:
    """The forest plot of these comparisons by their first metric; several pictures for more than
    ROWS_MAX rows."""
    base, first, canvas = compared.base_name(comparisons), comparisons[0], canvas_of(picture)
    metric = first.metrics[0]
    groups = groups_make(comparisons, metric, canvas.name_most)
    axis = parts.ratio_axis([
        *parts.floor_ends(row.floor for rows in groups for row in rows if row.floor),
        *(end for rows in groups for row in rows if row.estimate for end in row.estimate.span)])
    pictures = parts.groups_fill(groups, len, ROWS_MAX + 1)
    side = f" of {first.new.name}" if len(comparisons) == 1 else ""
    headline = parts.headline_text(
        first.base.matrix, f"{metric.text}{side} against {base} ({metric.better} is better)")
    note = compared.note_text(comparisons, ", 95 % interval")
    name = parts.picture_name(picture, metric.name)
    return [forest_drawing(canvas, name + f"-{number}" * (len(pictures) > 1), headline, note, {
        **axis, "label_x": f"ratio to {parts.name_cut(base)}"}, shown)
        for number, shown in enumerate(pictures, start=1)]


def forest_drawing(canvas: Canvas, name: str, headline: str, note: str, axis: Mapping[str, Any],
                   groups: Sequence[Sequence[ForestRow]]) -> parts.Drawing:
    """One picture of these groups, with a blank line between them."""
    rows = [row for group in groups for row in (*group, ForestRow(""))][:-1]
    signs = [Sign("", "---", "95 % interval"),
             *parts.floor_signs("shaded", "| |", [row.floor for row in rows if row.floor]),
             *[Sign("diamond", "#", "geometric mean")] * any(
                 row.point == GEOMEAN_POINT for row in rows),
             *parts.verdict_signs({row.verdict for row in rows}, points=True)]
    return parts.Drawing(
        parts.name_safe(name), "forest",
        parts.data_text([["rows", *(row.line(at) for at, row in enumerate(rows))]]), {
            **canvas.titles(ROW_UNITS * len(rows) + AROUND_UNITS,
                            ROW_LEAST * len(rows) + AROUND_UNITS, headline, note, signs),
            **axis, "lines": len(rows),
            "widest": max(len(row.name) for row in rows if row.point != HEADING_POINT),
            "intervals": canvas.width >= INTERVALS_LEAST,
            "mark_columns": max(len(row.mark) for row in rows),
            "value_columns": max(len(f"{row.mark} {row.interval}") for row in rows)})


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    return forest_draw(compared.baseline_comparisons(matrix, picture), picture)
