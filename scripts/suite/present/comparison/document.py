# SPDX-License-Identifier: MIT
"""Comparisons as a document: the tables, and the lines above and below them. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from suite import stats
from suite.base import grouped, units
from suite.base.runner_words import TARGET
from suite.base.text import listed_text
from suite.contrast.contrast import Unit, Verdict
from suite.decide.comparison.model import Change, Comparison, Difference, Side
from suite.decide.summary import Figure
from suite.observe.metrics import Metric
from suite.present.answers import labelled
from suite.present.columns import Footnotes, value_item, width_item
from suite.present.comparison import wording
from suite.present.comparison.records import comparison_frame, comparisons_json
from suite.present.heading import machine_pairs
from suite.present.judged import judged_marked, marked, withheld_note
from suite.present.legend import DIRECTION_MEANING, WIDTH_MEANING, factor_legend
from suite.present.table import title_text
from suite.present.tables.model import (
    ONLY_AXIS,
    ONLY_CELL,
    Column,
    Document,
    Group,
    Item,
    Pair,
    Section,
    Table,
    text_columns,
)
from suite.result.files import path_shown

HEADS = ("base", "+/-", "new", "+/-", wording.CHANGE, wording.INTERVAL, wording.MDE,
         wording.OUTLIERS)
HEADS_ALWAYS = ("base", "new", wording.CHANGE, wording.INTERVAL)  # even above an empty column
HOW = {Unit.ROUND: "round by round",
       Unit.BOOT: "every boot of one side to every boot of the other, which share no round",
       Unit.SESSION: "of session medians"}


def change_items(change: Change | None, factors: bool, note: str) -> list[Item]:
    """A change with its mark, `+3.1%`, `+3.1%?`, `0.12x`, `~`, `mixed`; its interval, `exact` or
    NOTHING; the MDE; the outliers, `1+0` for base and new. factors: all changes of the
    column are printed as factors, because one is beyond 3x. note: the mark of the footnote that
    says why a change is withheld."""
    if change is None:
        return [Item(wording.NOTHING)] * 2 + [Item("")] * 2
    texts = [wording.NOTHING] if change.ratio is None else units.change_texts(
        *change.ratio.span, factors=factors)
    interval = "" if change.verdict is Verdict.WITHHELD else (
        "exact" if change.verdict is Verdict.EXACT else units.interval_text(texts))
    effect = change.judged.detectable
    return [Item(judged_marked(texts[0], change.judged), note), Item(interval or wording.NOTHING),
            Item("" if effect is None else units.size_of_change(1 + effect)),
            Item("+".join(map(str, change.outliers)) if any(change.outliers) else "")]


def rows_items(comparison: Comparison, metric: Metric, scale: units.Scale, notes: Footnotes
               ) -> list[list[Item]]:
    """The items below HEADS, row by row; last those of the geometric mean, if there is one."""
    figures = [comparison.figures(row, metric) for row in comparison.rows]
    rows: list[list[Item]] = []
    factors = any(units.is_factor(*change.ratio.span) for change in comparison.changes(metric.name)
                  if change.ratio and change.verdict is not Verdict.WITHHELD)
    unknown = ["" if any(of_side) else f"no run of {side.name} reports it"  # the other side does
               for side, of_side in zip(comparison.sides, zip(*figures, strict=True), strict=True)]
    for row, found in zip(comparison.rows, figures, strict=True):
        items = []
        for side, cell, figure, why in zip(comparison.sides, (row.base, row.new), found, unknown,
                                           strict=True):
            items += [value_item(cell, figure, metric, scale, notes,
                                 metric is comparison.metrics[0],
                                 side.matrix.coverage_text(cell, metric.name) or why)
                      if cell else Item(wording.NOTHING), width_item(figure)]
        change = row.changes.get(metric.name)
        note = notes.mark(withheld_note(change.judged, metric)) if change else ""
        rows.append([*items, *change_items(change, factors, note)])
    if mean := comparison.geomeans.get(metric.name):
        texts = units.change_texts(*mean.ratio.span, factors=factors)
        rows.append([*[Item("")] * 4, Item(marked(texts[0], mean.verdict)),
                     Item(units.interval_text(texts) or wording.NOTHING), *[Item("")] * 2])
    return rows


def key_columns(axes: Sequence[str], rows: Sequence[Mapping[str, str]], last: str = ""
                ) -> tuple[Column, ...]:
    """The columns that name the rows. rows: their words. last: the name of a further row."""
    texts = {axis: [words.get(axis, ONLY_CELL) or "none" for words in rows]
             for axis in axes or (ONLY_AXIS,)}
    if last:
        for number, column in enumerate(texts.values()):
            column.append("" if number else last)
    return text_columns(texts, left=True)


def comparison_table(comparison: Comparison, metric: Metric, notes: Footnotes) -> Table:
    """The table of one metric, or the reason for its absence: no cell that is compared has it."""
    if not comparison.is_known(metric):
        return Table(title=f"{wording.metric_title(metric, '')}: no cell reports it")
    scale = units.scale_choose((figure.median for row in comparison.rows for figure in
                                comparison.figures(row, metric) if figure), metric.unit)
    columns = [Column(head, items) for head, items in zip(
        HEADS, zip(*rows_items(comparison, metric, scale, notes), strict=True), strict=True)]
    groups = [Group("", tuple(column for column in part
                              if column.head in HEADS_ALWAYS or not column.is_empty))
              for part in (columns[:4], columns[4:6], columns[6:])]
    named = [row.axes for row in comparison.rows]
    summed = metric.name in comparison.geomeans
    below = wording.rounds_text(comparison, metric), wording.mean_text(comparison, metric)
    return Table(key_columns(comparison.axes, named, wording.MEAN if summed else ""),
                 tuple(group for group in groups if group.columns),
                 wording.metric_title(metric, scale.unit), int(summed), tuple(filter(None, below)))


def side_line(comparison: Comparison, side: Side) -> str:
    """The name and the words of a side; of two results also the folder and number of sessions."""
    if comparison.within:
        return wording.side_text(side)
    return "; ".join(filter(None, [
        wording.side_text(side), path_shown(side.matrix.result.folder),
        units.counted_text(len(side.sessions), "session")]))


def differences_pairs(comparison: Comparison) -> list[Pair]:
    """All differences between the sides: those across which no ratio is valid, those that are
    compared, and the rest. Two targets differ in much: a line has all of a kind, shortened."""
    across = comparison.refusing
    base, new = (side.words.get(TARGET) for side in comparison.sides)
    systems = bool(base and new and base != new)
    kinds: dict[str, list[Difference]] = {
        "forced": list(across),
        "compared": sorted((one for one in comparison.differences if one.declared),
                           key=lambda one: not one.refuses),
        "differs": [one for one in comparison.differences if not one.declared
                    and one not in across]}
    pairs: list[Pair] = []
    for label, found in kinds.items():
        lines = grouped((one.kind if systems else one, one.text) for one in found)
        pairs += labelled(label, [listed_text(texts, "; ") for texts in lines.values()])
    nothing = f"nothing {'but what is compared' if comparison.within else 'that is known'}"
    return [*([("declared", f"{TARGET}={base},{new} compares whole systems: a change comes from "
                            "anything that differs here")] if systems else []),
            *(pairs or [("differs", nothing)])]


def sides_pairs(comparison: Comparison) -> list[Pair]:
    return [*differences_pairs(comparison), ("base", side_line(comparison, comparison.base)),
            ("new", side_line(comparison, comparison.new))]


def measured_pairs(comparison: Comparison) -> list[Pair]:
    """Where and how both sides were measured. What is the same on both stands once."""
    found = grouped((pair, name) for name, side in zip(("base", "new"), comparison.sides,
                                                       strict=True)
                    for pair in machine_pairs(side.matrix))
    labels = [label for label, _ in found]
    return [(label if len(names) > 1 else f"{label}, {names[0]}", text)
            for (label, text), names in sorted(found.items(),
                                               key=lambda item: labels.index(item[0][0]))]


def title_of(comparison: Comparison) -> str:
    base, new = (side.matrix.result.name for side in comparison.sides)
    return title_text(comparison.base.matrix) if comparison.within else f"{new} against {base}"


def marks_pairs(changes: Sequence[Change], unit: Unit) -> list[Pair]:
    verdicts = {change.verdict for change in changes}
    marks = [
        ("~", "undecided: the 95 % interval contains 0 % (1x)", Verdict.UNDECIDED in verdicts),
        ("=", "equivalent: the whole interval is within margin=", Verdict.EQUIVALENT in verdicts),
        (wording.MDE, "minimum detectable effect: the smallest change that so many "
         f"{unit.value}s with this noise find in 8 of 10 comparisons",
         any(change.judged.detectable is not None for change in changes)),
        (">0% <0%", DIRECTION_MEANING,
         any(change.ratio and change.ratio.directed for change in changes)),
        ("?", f"fewer than {stats.ROUNDS_NEEDED} shared rounds, or too few for so many rows: no "
         "interval" if unit is Unit.ROUND else
         f"fewer than {stats.SIDES_NEEDED} {unit.value}s a side, or too few for so many rows: "
         "nothing can be said",
         any(change.verdict is Verdict.UNKNOWN and change.ratio for change in changes)),
        (wording.OUTLIERS, "rounds of base + new that lie far from the others of their cell; they "
         "are counted", any(any(change.outliers) for change in changes)),
        ("FCR", "5 % of the intervals of changed rows may miss, over all rows",
         any(change.judged.family.tested > 1 for change in changes)),
        ("A/A", "the baseline against itself: the farther end of the interval",
         any(change.same is not None for change in changes)),
    ]
    return [(mark, meaning) for mark, meaning, occurs in marks if occurs]


def widths_pairs(figures: Iterable[Figure]) -> list[Pair]:
    marks = {bool(figure.interval.level) for figure in figures if figure.interval}
    meanings = {True: ("+/-", WIDTH_MEANING),
                False: ("r", f"fewer than {stats.ROUNDS_NEEDED} values: not an interval, the "
                             "farther of minimum and maximum")}
    return [pair for known, pair in meanings.items() if known in marks]


def tables_build(comparison: Comparison, notes: Footnotes) -> list[Table]:
    return [comparison_table(comparison, metric, notes) for metric in comparison.metrics]


def comparison_document(comparisons: Sequence[Comparison]) -> Document:
    notes = Footnotes()
    sections = [Section(sides_pairs(one), tables_build(one, notes)) for one in comparisons]
    foot = [*comparison_legend(comparisons), *comparison_notes(comparisons, notes)]
    return Document(title_of(comparisons[0]), sections, foot, end=measured_pairs(comparisons[0]),
                    records=lambda: comparison_frame(comparisons),
                    data=lambda: comparisons_json(comparisons))


def comparison_legend(comparisons: Sequence[Comparison]) -> list[Pair]:
    """The meaning of the marks and columns that occur."""
    changes = [change for one in comparisons for change in one.changes()]
    by_unit = grouped((one.unit, change) for one in comparisons for change in one.changes())
    pairs = widths_pairs(figure for change in changes for figure in (change.base, change.new))
    if ratios := [change.ratio for change in changes if change.ratio]:
        pairs += [("change", f"new / base - 1{factor_legend(ratios)}, of the two medians; its "
                             f"interval {HOW[unit]}") for unit in by_unit]
    for unit, found in by_unit.items():
        pairs += marks_pairs(found, unit)
    if means := [mean for one in comparisons for mean in one.geomeans.values()]:
        every = "; all: exact counts and rows that wait for a 40 ms timer too"
        pairs.append((wording.MEAN, "geometric mean of new / base over rows, within each "
                                    f"{comparisons[0].unit.value}"
                                    + every * any(mean.every for mean in means)))
    return pairs


def comparison_notes(comparisons: Sequence[Comparison], notes: Footnotes) -> list[Pair]:
    """The footnotes and the notes."""
    hopeless = [
        f"with so few {one.unit.value}s a change of {metric.name} in so few of "
        f"{one.family(metric.name).tested} rows cannot survive the correction: "
        f"more {one.unit.value}s, or fewer rows, are needed"
        for one in comparisons for metric in one.metrics if one.family(metric.name).hopeless]
    remarks = [note for one in comparisons for note in one.notes]
    return [*notes.lines(),
            *(("note", note) for found in (hopeless, remarks) for note in dict.fromkeys(found))]
