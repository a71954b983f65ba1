# SPDX-License-Identifier: MIT
"""`uncork table`: a summary as text for a terminal, Markdown, CSV or JSON. Pure: gives strings."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any

from suite import stats
from suite.base.units import ratio_text
from suite.contrast.verdicts import Judged
from suite.decide.optimum import Answer, Optimum, answers_decide, axes_by_effect, better_ratio
from suite.decide.summary import Figure, Gain, PublishedRatio, Summary, summary_build
from suite.observe.frame import Cell, Matrix
from suite.observe.selection import Layout, layout_choose
from suite.present import columns
from suite.present.answers import (
    Pairs,
    answers_pairs,
    deciding_pairs,
    library_pairs,
    opposed_pairs,
    optimum_text,
)
from suite.present.claims import claims_pairs
from suite.present.heading import heading_pairs
from suite.present.judged import verdict_name
from suite.present.legend import legend_pairs, published_sizes
from suite.present.tables.model import Column, Document, Group, Item, Section, Table
from suite.scenario.scenario import Question, TableLayout

GROUPS_ANSWERED = 6  # more answers would push the table off the screen
# Fields of a metric in a record besides median and interval; each follows `METRIC_`.
BEST_FIELDS = ("mark", "better", "better_low", "better_high", "better_verdict")
RATIO_FIELDS = ("ratio", "ratio_low", "ratio_high", "verdict")
GAIN_FIELDS = ("pre", "post", "gain", "gain_low", "gain_high", "gain_verdict", "gain_worst",
               "gain_best")
Fields = dict[str, float | str | None]  # values of a record, by field


def axis_values(cells: Iterable[Cell], axes: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The combinations of values of these axes that occur, in the order of the plan."""
    cells = list(cells)
    found = {tuple(cell.axes[axis] for axis in axes) for cell in cells}
    orders = [list(dict.fromkeys(cell.axes[axis] for cell in cells)) for axis in axes]
    return [values for values in product(*orders) if values in found]


def result_table(summary: Summary, layout: Layout, notes: columns.Footnotes) -> Table:
    """The table: a row for each combination on layout.rows, columns for each metric. With
    layout.across it has these columns for each combination on that."""
    cells = list(summary.matrix.cells.values())
    rows = axis_values(cells, layout.rows)
    place = {(tuple(cell.axes[a] for a in layout.rows), tuple(cell.axes[a] for a in layout.across)):
             cell for cell in cells}
    named = [columns.axis_names(summary, layout.rows, row) for row in rows]
    keys = [Column(axis, tuple(Item(names[index]) for names in named), left=True)
            for index, axis in enumerate(layout.rows)] or [Column("", (Item(""),), left=True)]
    groups: list[Group] = []
    for across in axis_values(cells, layout.across):
        for metric in summary.metrics:
            head = " ".join(columns.axis_names(summary, layout.across, across))
            chosen = [place.get((row, across)) for row in rows]
            groups += columns.groups_build(summary, chosen, metric, head, notes)
    breaks = [index for index in range(1, len(rows)) if rows[index][:-1] != rows[index - 1][:-1]]
    return Table(tuple(keys), tuple(groups), breaks=tuple(breaks))


def answers_of(summary: Summary) -> list[Answer]:
    """The answers to the questions of the scenario, and to best= if no question asks the same.

    A scenario without questions and claims (as of a run of words alone) answers which value is best
    of the word that matters most, and of the baseline's word, unless that makes more than
    GROUPS_ANSWERED answers. effects_pairs() has the others.
    """
    axes = [summary.best] if summary.best else axes_answered(summary)
    answers = answers_decide(summary.matrix, *(
        Question(f"Which {axis} is best by {summary.metrics[0].name}?", axis,
                 summary.metrics[0].name) for axis in axes))
    return [answer for answer in answers if summary.best or len(answer.optima) <= GROUPS_ANSWERED]


def axes_answered(summary: Summary) -> list[str]:
    """The words that a scenario without questions and claims answers: the one that matters most,
    and that of the baseline."""
    scenario = summary.matrix.result.scenario
    if scenario.answers or scenario.claims or not summary.metrics:
        return []
    effects = axes_by_effect(summary.matrix, summary.metrics[0])
    first = list(effects)[:1]
    return first + [axis for axis in summary.baseline if axis in effects and axis not in first]


def effects_pairs(summary: Summary) -> Pairs:
    """How much the words matter that axes_answered() leaves out; empty without such."""
    answered = axes_answered(summary)
    if not answered or summary.best:
        return []
    metric = summary.metrics[0]
    texts = [f"{axis} {ratio_text(effect)}" for axis, effect in axes_by_effect(
        summary.matrix, metric).items() if axis not in answered]
    return [(None, f"Other words change {metric.name} by at most: {', '.join(texts)}.")
            ] if texts else []


def answers_and_opposed(summary: Summary, answers: Sequence[Answer]) -> Pairs:
    """The answers, and the metrics whose rows changed to opposite sides."""
    names = columns.ratio_metrics(summary) | {summary.gain_shown, summary.best_metric}
    return [*answers_pairs(answers), *effects_pairs(summary), *opposed_pairs(
        summary.matrix, (metric for metric in summary.metrics if metric.name in names))]


def listed_text(texts: Sequence[str]) -> str:
    """Up to three texts, or the first and the number of the others."""
    return ", ".join(texts) if len(texts) <= 3 else f"{texts[0]}, and {len(texts) - 1} others"


def result_foot(summary: Summary, notes: columns.Footnotes) -> Pairs:
    """The lines below a table: legend, footnotes, remarks on the result."""
    remarks = list(summary.matrix.result.notes)
    if summary.gain and not summary.gains:
        remarks.insert(0, f"no gain of {summary.gain}: no cell shares a good round with a baseline")
    if summary.published_unused:
        remarks.insert(0, "published figures of cells that are not in this result: "
                       + listed_text(summary.published_unused))
    return [*legend_pairs(summary), *published_sizes(summary), *notes.lines(),
            *library_pairs(summary.matrix, summary.metrics),
            *(("note", remark) for remark in remarks)]


def title_text(matrix: Matrix) -> str:
    question = matrix.result.scenario.question
    return f"{matrix.result.name}: {question}" if question else matrix.result.name


def result_document(summary: Summary, layout: Layout, ends_a_run: bool = False) -> Document:
    """The table of a result with everything around it, and its records and JSON. ends_a_run: the
    answers stand last, because a terminal shows the end of a long output."""
    notes = columns.Footnotes()
    table = result_table(summary, layout, notes)
    section = Section(heading_pairs(summary, columns.scales_choose(summary)), [table])
    answers, claims = answers_of(summary), claims_pairs(summary.matrix)
    answered, deciding = answers_and_opposed(summary, answers), deciding_pairs(answers)
    return Document(
        title_text(summary.matrix), [section], result_foot(summary, notes),
        answer=[] if ends_a_run else answered,
        end=[*claims, *(answered if ends_a_run else []), *deciding],
        fields=result_fields(summary), records=lambda: result_records(summary),
        data=lambda: summary_json(summary))


def figure_censored(figure: Figure) -> str:
    """Which part of a figure is only a bound: `median`, `high` (end of its interval), or ""."""
    if isinstance(figure.median, stats.Beyond):
        return "median"
    return "high" if figure.interval and isinstance(figure.interval.high, stats.Beyond) else ""


def figure_fields(name: str, figure: Figure) -> Fields:
    """A figure, its interval, its number of rounds, and which part of it is only a bound."""
    interval = figure.interval
    return {name: figure.median, f"{name}_low": interval.low if interval else None,
            f"{name}_high": interval.high if interval else None, f"{name}_rounds": figure.rounds,
            f"{name}_censored": figure_censored(figure)}


def estimate_fields(name: str, ratio: stats.Estimate, offset: float,
                    judged: Judged | None = None) -> Fields:
    """A ratio and its interval, each minus the offset, and its verdict. None: unknown."""
    interval = None if ratio.directed else ratio.interval
    return {name: None if ratio.directed else ratio.value - offset,
            f"{name}_low": interval.low - offset if interval else None,
            f"{name}_high": interval.high - offset if interval else None,
            f"{name}_verdict": verdict_name(judged) if judged else None}


def gain_fields(gain: Gain) -> Fields:
    return {"pre": gain.pre, "post": gain.post,
            **estimate_fields("gain", gain.ratio, 1, gain.judged),
            "gain_worst": gain.worst, "gain_best": gain.best}


def best_fields(summary: Summary, cell: Cell) -> Fields:
    """The mark of a cell, and how many times better than its baseline it is."""
    figure = summary.figures[cell.name].get(summary.best_metric or "")
    mark: Fields = {"mark": columns.best_mark(summary, cell)}
    if figure is None or figure.ratio is None:
        return mark
    better = better_ratio(figure.ratio, summary.metrics[0])
    return mark | estimate_fields("better", better, 0, figure.judged)


def result_fields(summary: Summary) -> list[str]:
    """The columns of a CSV: status, the axes that vary, METRIC, METRIC_low and METRIC_high in SI
    units. METRIC_censored is there where some figure is only a bound (docs/methodology.md,
    "Quantiles"). GAIN_FIELDS, BEST_FIELDS and RATIO_FIELDS are there where the table has them."""
    censored = [metric.name for metric in summary.metrics if any(
        figure_censored(found[metric.name]) for found in summary.figures.values()
        if metric.name in found)]
    shown = columns.ratio_metrics(summary)
    ratios = [metric.name for metric in summary.metrics if metric.name in shown]
    return ["status", *summary.matrix.axes,
            *(f"{metric.name}{end}" for metric in summary.metrics for end in ("", "_low", "_high")),
            *(f"{name}_censored" for name in censored),
            *(f"{summary.gain}_{part}" for part in GAIN_FIELDS if summary.gain),
            *(f"{summary.best_metric}_{part}" for part in BEST_FIELDS if summary.best),
            *(f"{name}_{part}" for name in ratios for part in RATIO_FIELDS)]


def result_records(summary: Summary) -> Iterator[Fields]:
    """A record of each cell. It has result_fields() and more."""
    for cell in summary.matrix.cells.values():
        record: Fields = {"status": cell.status, **cell.axes}
        for name, figure in summary.figures[cell.name].items():
            record |= figure_fields(name, figure)
            if figure.ratio and figure.judged:
                record |= estimate_fields(f"{name}_ratio", figure.ratio, 0) | {
                    f"{name}_verdict": verdict_name(figure.judged)}
        gain = summary.gains.get(cell.name)
        for asked, parts in ((summary.gain, gain_fields(gain) if gain else {}),
                             (summary.best_metric, best_fields(summary, cell))):
            record |= {f"{asked}_{part}": value for part, value in parts.items()}
        yield record


def ratio_json(ratio: stats.Estimate) -> dict[str, Any]:
    """A ratio with its interval, or its direction if no more is known."""
    if ratio.directed:
        direction = "above" if ratio.value > 1 else "below" if ratio.value < 1 else "none"
        return {"value": None, "direction": direction, "pairs": ratio.pairs}
    interval = ratio.interval._asdict() if ratio.interval else {}
    return {"value": ratio.value, **interval, "pairs": ratio.pairs}


def figure_json(figure: Figure) -> dict[str, Any]:
    interval = figure.interval._asdict() if figure.interval else {}  # level null: min and max
    value: dict[str, Any] = {"median": figure.median, **interval, "rounds": figure.rounds,
                             "exact": figure.exact}
    if figure_censored(figure):
        value["censored"] = figure_censored(figure)
    if figure.ratio is not None:
        verdict = verdict_name(figure.judged) if figure.judged else None
        value["ratio"] = ratio_json(figure.ratio) | {"verdict": verdict}
    return value | published_json(figure.published)


def published_json(ratios: Iterable[PublishedRatio]) -> dict[str, Any]:
    return {columns.published_name(one.figure.set): {
        "value": one.figure.value, "from": one.figure.source, "ratio": one.ratio}
        for one in ratios}


def groups_json(optima: Sequence[Optimum]) -> list[dict[str, Any]]:
    return [{"words": dict(optimum.place), "best": optimum.best, "alike": list(optimum.alike),
             "answer": optimum_text(optimum)} for optimum in optima]


def cell_json(summary: Summary, cell: Cell) -> dict[str, Any]:
    value: dict[str, Any] = {
        "cell": cell.name, "status": cell.status, "axes": dict(cell.axes),
        "baseline": cell.baseline, "runs_ok": cell.runs_ok, "runs_failed": cell.runs_failed}
    if cell.reasons:
        value["reasons"] = list(cell.reasons)
    if gain := summary.gains.get(cell.name):
        value["gain"] = gain_fields(gain) | {"pairs": gain.ratio.pairs} | published_json(
            gain.published)
    if summary.best:
        value["best"] = best_fields(summary, cell)
    return value | {"metrics": {name: figure_json(figure)
                                for name, figure in summary.figures[cell.name].items()}}


def summary_json(summary: Summary) -> dict[str, Any]:
    matrix = summary.matrix
    return {
        "schema": 1, "result": matrix.result.name, "question": matrix.result.scenario.question,
        "source": matrix.result.scenario.source, "axes": list(matrix.axes),
        "rounds": matrix.rounds, "baseline": dict(summary.baseline),
        "metrics": {m.name: {"unit": m.unit, "better": m.better, "means": m.means,
                             "noise_floors": {
                                 cell: reach - 1 for cell, same in summary.same[m.name].items()
                                 if (reach := same.reach)}}
                    for m in summary.metrics},
        "gain": summary.gain,
        "best": {"axis": summary.best, "metric": summary.best_metric,
                 "groups": groups_json(summary.optima)} if summary.best else None,
        "answers": [{**vars(question), "why": why, "groups": groups_json(optima)}
                    for question, optima, why, *_ in answers_of(summary)],
        "cells": [cell_json(summary, cell) for cell in matrix.cells.values()],
        "notes": list(matrix.result.notes),
    }


def table_document(matrix: Matrix, asked: TableLayout, ends_a_run: bool = False) -> Document:
    """The document of the table asked for. ends_a_run: as in result_document()."""
    layout = layout_choose(matrix, asked)
    summary = summary_build(matrix, layout.metrics, asked.gain, layout.best)
    return result_document(summary, layout, ends_a_run)
