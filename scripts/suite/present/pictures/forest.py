# SPDX-License-Identifier: MIT
"""Forest plot: the ratio of each row with its interval; its A/A interval is shaded. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from suite import stats
from suite.contrast.contrast import Verdict
from suite.decide.comparison.model import Comparison, Row
from suite.observe.frame import Matrix
from suite.observe.metrics import Metric
from suite.present.comparison import wording
from suite.present.pictures import compared, parts
from suite.present.pictures.canvas import COLUMNS, LETTER, LINE, Canvas, Sign, canvas_of, lines_of
from suite.scenario.scenario import Picture

ROWS_MAX = 36  # rows of a picture; further comparisons go into another picture
GEOMEAN_POINT = 13
ROW_UNITS, ROW_LEAST = 24, 18  # the height of a line in units: wanted, needed
AXIS_LEAST = 0.3  # if the axis has less than this share of the width, intervals are not written
VALUE_LETTER = 8.9  # the width in units of a letter beside a ratio, where most are digits
TIC_COLUMNS = 9  # the width of a tic in characters


@dataclass(frozen=True)
class ForestRow:
    """One line. mark: the ratio as text, or why there is none. floor: the A/A interval."""

    name: str
    mark: str
    interval: str = ""
    estimate: stats.Estimate | None = None
    point: int = 0
    floor: float | None = None
    verdict: Verdict | None = None

    def text(self, short: bool = False) -> str:
        """The text beside the ratio; short: without the interval, which is drawn."""
        return self.mark if short else f"{self.mark} {self.interval}".rstrip()


ForestGroup = tuple[str, list[ForestRow]]  # a heading, empty where it says nothing; its lines


def row_make(row: Row, name: str, metric: Metric) -> ForestRow:
    change = row.changes.get(metric.name)
    if change is None or change.ratio is None:
        return ForestRow(name, compared.absent_text(row, metric))
    texts = compared.estimate_texts(change.ratio, change.verdict, change.contrast.status)
    if change.ratio.directed or change.verdict is Verdict.WITHHELD:
        return ForestRow(name, *texts, verdict=change.verdict)
    return ForestRow(name, *texts, change.ratio, parts.POINT_SIGNS[change.verdict][0], change.same,
                     change.verdict)


def group_make(comparison: Comparison, metric: Metric, most: int) -> ForestGroup:
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
    return parts.name_cut(compared.side_value(comparison.new), most), rows


def groups_join(groups: Sequence[ForestGroup]) -> Sequence[ForestGroup]:
    """If all groups have one row, they become one group. A single group has no heading."""
    if all(len(rows) == 1 for _, rows in groups):
        return [("", [replace(row, name=head) for head, rows in groups for row in rows])]
    return [("", groups[0][1])] if len(groups) == 1 else groups


def groups_blocks(groups: Sequence[ForestGroup], short: bool) -> tuple[list[list[parts.Row]], int]:
    """The blocks of a .dat, and the height in lines, including those between groups. short: as in
    ForestRow.text()."""
    rows: list[parts.Row] = ["rows"]
    heads: list[parts.Row] = ["headings"]
    bands: list[parts.Row] = ["A/A intervals"]
    at = 0
    for head, lines in groups:
        if head:
            heads.append((at, head))
            at += 1
        for row in lines:
            if row.floor:
                bands.append((1 / row.floor, row.floor, at - 0.5, at + 0.5))
            value, low, high, *_ = *(row.estimate.span if row.estimate else ()), None, None, None
            rows.append((at, value, low, high, row.point, row.name, row.text(), row.text(short)))
            at += 1
        at += 1
    return [rows, *(block for block in (heads, bands) if len(block) > 1)], at - 1


def forest_draw(comparisons: Sequence[Comparison], name: str, canvas: Canvas = Canvas()
                ) -> list[parts.Drawing]:
    """The forest plot of these comparisons by their first metric; several pictures for more than
    ROWS_MAX rows."""
    base, first = compared.base_name(comparisons), comparisons[0]
    metric = first.metrics[0]
    every = groups_join([group_make(one, metric, canvas.name_most) for one in comparisons])
    all_rows = [row for _, rows in every for row in rows]
    ends = [1.0, *parts.floor_ends(row.floor for row in all_rows if row.floor),
            *(end for row in all_rows if row.estimate for end in row.estimate.span)]
    pictures = parts.groups_fill(every, lambda group: len(group[1]) + 1, ROWS_MAX + 1)
    side = f" of {first.new.name}" if len(comparisons) == 1 else ""
    headline = parts.headline_text(
        first.base.matrix, f"{metric.text}{side} against {base} ({metric.better} is better)")
    note = compared.note_text(comparisons, ", 95 % interval")
    label = f"{metric.text}: ratio to {base}"
    drawn = lines_of(label, (canvas.width - 30) / LETTER)
    beside = 66 + LINE * (len(drawn) - 1)
    drawings = []
    for number, groups in enumerate(pictures, start=1):
        rows = [row for _, rows in groups for row in rows]
        widest, in_text = max(len(row.name) for row in rows), max(len(row.text()) for row in rows)
        room = [canvas.width - 50 - LETTER * widest - VALUE_LETTER * max(
            len(row.text(short)) for row in rows) for short in (False, True)]
        short = room[0] < AXIS_LEAST * canvas.width
        blocks, height = groups_blocks(groups, short)
        signs = [Sign("", "---", "95 % interval"),
                 *parts.floor_signs("shaded", "| |", [row.floor for row in rows if row.floor]),
                 *[Sign("diamond", "#", "geometric mean")] * any(
                     row.point == GEOMEAN_POINT for row in rows),
                 *parts.verdict_signs({row.verdict for row in rows}, points=True),
                 *compared.absent_signs(row.mark for row in rows)]
        axis_columns = (room[short] / LETTER, COLUMNS - widest - in_text)
        drawings.append(parts.Drawing(
            parts.name_safe(name + f"-{number}" * (len(pictures) > 1)), "forest",
            parts.data_text(blocks), {
                **canvas.titles(ROW_UNITS * height + beside, ROW_LEAST * height + beside, headline,
                                note, signs),
                "label_x": "\n".join(drawn), "label_rows": len(drawn), "label_x_text": label,
                "heads": sum(bool(head) for head, _ in groups),
                "bands": sum(bool(row.floor) for row in rows),
                "ratios": sum(row.estimate is not None for row in rows), "lines": height,
                "widest": widest, "value_columns": max(len(row.text(short)) for row in rows),
                "value_columns_text": in_text,
                **parts.ratio_axis("x", ("left", "right", "logarithmic", "tics_x", "tics_text"),
                                   ends, [min(max(int(columns) // TIC_COLUMNS, 2), 9)
                                          for columns in axis_columns])}))
    return drawings


def draw(matrix: Matrix, picture: Picture) -> list[parts.Drawing]:
    comparisons = compared.baseline_comparisons(matrix, picture)
    name = parts.picture_name(picture, comparisons[0].metrics[0].name)
    return forest_draw(comparisons, name, canvas_of(picture))
