# SPDX-License-Identifier: MIT
"""Comparisons as a document: the tables, and the lines above and below them. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from suite import stats
from suite.base import grouped
from suite.base.runner_words import TARGET
from suite.base.units import Scale, counted_text, scale_choose, size_of_change
from suite.contrast.contrast import Unit, Verdict
from suite.decide.comparison.model import Change, Comparison, Difference, Side
from suite.decide.summary import Figure
from suite.observe.frame import Cell
from suite.observe.metrics import Metric
from suite.present.answers import labelled
from suite.present.columns import Footnotes, value_item, width_item
from suite.present.comparison import wording
from suite.present.comparison.records import comparison_fields, comparison_records, comparisons_json
from suite.present.heading import machine_pairs
from suite.present.judged import withheld_note
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
)
from suite.result.files import path_shown

KIND_MOST = 4  # between two systems: a kind with more differences shows the first and a count
HOW = {Unit.ROUND: "round by round",
       Unit.BOOT: "every boot of one side to every boot of the other, which share no round",
       Unit.SESSION: "of session medians"}


def scale_of(comparison: Comparison, metric: Metric) -> Scale:
    figures = [figure for row in comparison.rows for figure in comparison.figures(row, metric)]
    return scale_choose((figure.median for figure in figures if figure), metric.unit)


def figure_columns(head: str, items: Sequence[Item], figures: Sequence[Figure | None]
                   ) -> list[Column]:
    """Medians below a head, with the widths of their intervals if any has one."""
    columns = [Column(head, tuple(items)), Column("+/-", tuple(map(width_item, figures)))]
    return columns[:1] if columns[1].is_empty else columns


def side_columns(comparison: Comparison, metric: Metric, scale: Scale, notes: Footnotes,
                 side_name: str) -> list[Column]:
    """Median and +/- of one side, `base` or `new`."""
    side: Side = getattr(comparison, side_name)
    cells: list[Cell | None] = [getattr(row, side_name) for row in comparison.rows]
    figures = [comparison.figures(row, metric)[side_name == "new"] for row in comparison.rows]
    unknown = "" if any(figures) else f"no run of {side.name} reports it"  # the other side does
    return figure_columns(side_name, [
        value_item(cell, figure, metric, scale, notes, metric is comparison.metrics[0],
                   side.matrix.coverage_text(cell, metric.name) or unknown)
        if cell else Item(wording.NOTHING)
        for cell, figure in zip(cells, figures, strict=True)], figures)


def change_columns(comparison: Comparison, metric: Metric, notes: Footnotes) -> list[Column]:
    """The changes, and their intervals. A change that is withheld has a footnote."""
    changes = [row.changes.get(metric.name) for row in comparison.rows]
    texts = [wording.change_item_texts(change, wording.has_factors(comparison, metric))
             for change in changes]
    marks = [notes.mark(withheld_note(change.judged, metric)) if change else ""
             for change in changes]
    return [Column(wording.CHANGE, tuple(Item(text, mark) for (text, _), mark in
                                         zip(texts, marks, strict=True))),
            Column(wording.INTERVAL, tuple(Item(interval) for _, interval in texts))]


def doubt_columns(comparison: Comparison, metric: Metric) -> list[Column]:
    """MDE and outliers, `1+0` for base and new; only those that some row has."""
    changes = [row.changes.get(metric.name) for row in comparison.rows]
    effects = [change.judged.detectable if change else None for change in changes]
    columns = [
        Column(wording.MDE, tuple(Item("" if effect is None else size_of_change(1 + effect))
                            for effect in effects)),
        Column(wording.OUTLIERS, tuple(Item("+".join(map(str, change.outliers)) if change and any(
            change.outliers) else "") for change in changes))]
    return [column for column in columns if not column.is_empty]


def row_add(columns: Iterable[Column], texts: Mapping[str, str]) -> tuple[Column, ...]:
    """The columns with one more row. texts: those of the row, by the head of their column."""
    return tuple(replace(column, items=(*column.items, Item(texts.get(column.head, ""))))
                 for column in columns)


def key_columns(axes: Sequence[str], rows: Iterable[Mapping[str, str]]) -> tuple[Column, ...]:
    """The columns that name the rows. rows: their words."""
    named = list(rows)
    return tuple(Column(axis, tuple(Item(words.get(axis, ONLY_CELL) or "none") for words in named),
                        left=True) for axis in axes or (ONLY_AXIS,))


def comparison_table(comparison: Comparison, metric: Metric, notes: Footnotes) -> Table:
    """The table of one metric, or the reason for its absence: no cell that is compared has it."""
    if not comparison.is_known(metric):
        return Table(title=f"{wording.metric_title(metric, '')}: no cell reports it")
    scale = scale_of(comparison, metric)
    keys = key_columns(comparison.axes, [row.axes for row in comparison.rows])
    places = [tuple(row.axes.values())[:-1] for row in comparison.rows]
    breaks = [index for index in range(1, len(places)) if places[index] != places[index - 1]]
    sides = [column for side in ("base", "new")
             for column in side_columns(comparison, metric, scale, notes, side)]
    groups = [Group("", tuple(sides)),
              Group("", tuple(change_columns(comparison, metric, notes)))]
    if doubts := doubt_columns(comparison, metric):
        groups.append(Group("", tuple(doubts)))
    mean = comparison.geomeans.get(metric.name)
    if mean:
        keys = row_add(keys, {keys[0].head: wording.MEAN})
        texts = wording.mean_item_texts(mean, wording.has_factors(comparison, metric))
        groups = [replace(group, columns=row_add(group.columns, texts)) for group in groups]
        breaks += [len(places)] if breaks else []
    return Table(keys, tuple(groups), wording.metric_title(metric, scale.unit), tuple(breaks),
                 int(bool(mean)), wording.rounds_text(comparison, metric),
                 wording.mean_text(comparison, metric))


def side_line(comparison: Comparison, side: Side) -> str:
    """The name and the words of a side; of two results also the folder and number of sessions."""
    if comparison.within:
        return wording.side_text(side)
    result = side.matrix.result
    where = [path_shown(result.folder), counted_text(len(side.sessions), "session")]
    return "; ".join(filter(None, (wording.side_text(side, [result.name]), *where)))


def kinds_texts(differences: Iterable[Difference], most: int | None) -> list[str]:
    """Differences as texts. A kind with more than most has its first one and a count."""
    kinds = grouped((one.kind, one) for one in differences)
    return [text for kind, found in kinds.items() for text in (
        (one.text for one in found) if most is None or len(found) <= most else
        [f"{found[0].text}; and {len(found) - 1} more of {kind}"])]


def differences_pairs(comparison: Comparison) -> list[Pair]:
    """All differences between the sides: those across which no ratio is valid, those that are
    compared, and the rest. Two targets differ in much, so that each kind has KIND_MOST at most."""
    across = comparison.refusing
    base, new = (side.words.get(TARGET) for side in comparison.sides)
    systems = bool(base and new and base != new)
    kinds: dict[str, list[Difference]] = {
        "forced": list(across),
        "compared": sorted((one for one in comparison.differences if one.declared),
                           key=lambda one: not one.refuses),
        "differs": [one for one in comparison.differences if not one.declared
                    and one not in across]}
    pairs = [pair for label, found in kinds.items()
             for pair in labelled(label, kinds_texts(found, KIND_MOST if systems else None))]
    nothing = f"nothing {'but what is compared' if comparison.within else 'that is known'}"
    return [*([("declared", f"{TARGET}={base},{new} compares whole systems: a change comes from "
                            "anything that differs here")] if systems else []),
            *(pairs or [("differs", nothing)])]


def sides_pairs(comparison: Comparison) -> list[Pair]:
    return [*differences_pairs(comparison), ("base", side_line(comparison, comparison.base)),
            ("new", side_line(comparison, comparison.new))]


def measured_pairs(comparison: Comparison) -> list[Pair]:
    """Where and how both sides were measured. What is the same on both stands once."""
    sides = {name: dict(machine_pairs(side.matrix))
             for name, side in zip(("base", "new"), comparison.sides, strict=True)}
    pairs: list[Pair] = []
    for label in dict.fromkeys([*sides["base"], *sides["new"]]):
        texts = {name: known[label] for name, known in sides.items() if label in known}
        same = len(texts) == 2 and texts["base"] == texts["new"]
        pairs += [(label, texts["base"])] if same else [(f"{label}, {name}", text)
                                                        for name, text in texts.items()]
    return pairs


def title_of(comparison: Comparison) -> str:
    base, new = (side.matrix.result for side in comparison.sides)
    if comparison.within:
        return title_text(comparison.base.matrix)
    asked = f": {base.scenario.question}" if base.scenario.question == new.scenario.question else ""
    return f"{new.name} against {base.name}{asked}".rstrip(": ")


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
    heads = [sides_pairs(one) for one in comparisons]
    heads[0] += measured_pairs(comparisons[0])
    sections = [Section(head, tables_build(one, notes))
                for head, one in zip(heads, comparisons, strict=True)]
    return Document(title_of(comparisons[0]), sections, comparison_foot(comparisons, notes),
                    fields=comparison_fields(comparisons),
                    records=lambda: comparison_records(comparisons),
                    data=lambda: comparisons_json(comparisons))


def comparison_legend(comparisons: Sequence[Comparison]) -> list[Pair]:
    """The meaning of the marks and columns that occur."""
    changes = [change for one in comparisons for change in one.changes()]
    units = list(dict.fromkeys(one.unit for one in comparisons))
    pairs = widths_pairs(figure for change in changes for figure in (change.base, change.new))
    ratios = [change.ratio for change in changes if change.ratio]
    if ratios:
        pairs += [("change", f"new / base - 1{factor_legend(ratios)}, of the two medians; its "
                             f"interval {HOW[unit]}") for unit in units]
    for unit in units:
        pairs += marks_pairs([change for one in comparisons if one.unit is unit
                              for change in one.changes()], unit)
    means = [mean for one in comparisons for mean in one.geomeans.values()]
    if means:
        every = "; all: exact counts and rows that wait for a 40 ms timer too"
        pairs.append((wording.MEAN,
                      f"geometric mean of new / base over rows, within each {units[0].value}"
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


def comparison_foot(comparisons: Sequence[Comparison], notes: Footnotes) -> list[Pair]:
    return [*comparison_legend(comparisons), *comparison_notes(comparisons, notes)]
