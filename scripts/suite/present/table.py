# SPDX-License-Identifier: MIT
"""`uncork table`: a summary as text for a terminal, Markdown, CSV or JSON. Pure: gives strings."""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import pandas as pd

from suite import stats
from suite.base import grouped
from suite.base.units import counted_text, ratio_text
from suite.contrast.verdicts import Judged
from suite.decide.optimum import Answer, Optimum, answers_decide, axes_by_effect, better_ratio
from suite.decide.summary import Figure, PublishedRatio, Summary, summary_build
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
from suite.present.legend import legend_pairs
from suite.present.tables.model import Document, Section, Table, text_columns
from suite.scenario.scenario import Question, TableLayout

GROUPS_ANSWERED = 6  # more answers would push the table off the screen
# Parts of a CSV after METRIC, or after the metric of gain= or best=, with their place in JSON.
FIGURE_PARTS = {"": "median", "_low": "low", "_high": "high"}
RATIO_PARTS = {"_ratio": "value", "_ratio_low": "low", "_ratio_high": "high", "_verdict": "verdict"}
GAIN_PARTS = ("pre", "post", "gain", "gain_low", "gain_high", "gain_verdict", "gain_worst",
              "gain_best")
BEST_PARTS = ("mark", "better", "better_low", "better_high", "better_verdict")
Fields = dict[str, float | str | None]  # values of a record, by field


def cells_group(cells: Iterable[Cell], axes: Sequence[str]
                ) -> list[tuple[dict[str, str], list[Cell]]]:
    """(words, cells) of each combination of values on these axes, in the order of the plan."""
    groups = grouped((tuple(cell.axes[axis] for axis in axes), cell) for cell in cells)
    orders = [list(dict.fromkeys(values)) for values in zip(*groups, strict=True)]
    return [(dict(zip(axes, values, strict=True)), groups[values])
            for values in product(*orders) if values in groups]


def result_table(summary: Summary, layout: Layout, notes: columns.Footnotes) -> Table:
    """The table: a row for each combination on layout.rows, columns for each metric. With
    layout.across it has these columns for each combination on that."""
    cells = summary.matrix.cells.values()
    rows = cells_group(cells, layout.rows)
    named = [columns.axis_names(summary, words) for words, _ in rows]
    keys = text_columns({axis: [names[axis] for names in named] for axis in layout.rows}
                        or {"": [""]}, left=True)
    groups = [group for across, having in cells_group(cells, layout.across)
              for metric in summary.metrics for group in columns.groups_build(
                  summary, [next((cell for cell in row if cell in having), None)
                            for _, row in rows], metric,
                  " ".join(columns.axis_names(summary, across).values()), notes)]
    return Table(keys, tuple(groups))


def axes_unasked(summary: Summary) -> dict[str, float]:
    """The words of a scenario without questions and claims (as of a run of words alone) with their
    effect, the largest first. Empty with best=, which is a question."""
    scenario = summary.matrix.result.scenario
    if scenario.answers or scenario.claims or summary.best or not summary.metrics:
        return {}
    return axes_by_effect(summary.matrix, summary.metrics[0])


def answers_of(summary: Summary) -> list[Answer]:
    """The answers to the questions of the scenario, and to best= or else for the first of
    axes_unasked() and the words of the baseline. An answer of more than GROUPS_ANSWERED groups is
    left out, unless best= asks for it."""
    unasked = list(axes_unasked(summary))
    axes = [summary.best] if summary.best else [
        axis for axis in unasked if axis == unasked[0] or axis in summary.baseline]
    answers = answers_decide(summary.matrix, *(
        Question(f"Which {axis} is best by {summary.metrics[0].name}?", axis,
                 summary.metrics[0].name) for axis in axes))
    return [answer for answer in answers if summary.best or len(answer.optima) <= GROUPS_ANSWERED]


def answers_and_opposed(summary: Summary, answers: Sequence[Answer]) -> Pairs:
    """The answers, how much other words matter, and the metrics whose rows changed to opposite
    sides."""
    names = columns.ratio_metrics(summary) | {summary.gain_shown, summary.best_metric}
    answered = {answer.question.word for answer in answers}
    others = ", ".join(f"{axis} {ratio_text(effect)}" for axis, effect
                       in axes_unasked(summary).items() if axis not in answered)
    effects: Pairs = [(None, f"Other words change {summary.metrics[0].name} by at most: {others}.")
                      ] if others else []
    return [*answers_pairs(answers), *effects, *opposed_pairs(
        summary.matrix, (metric for metric in summary.metrics if metric.name in names))]


def title_text(matrix: Matrix) -> str:
    question = matrix.result.scenario.question
    return f"{matrix.result.name}: {question}" if question else matrix.result.name


def result_document(summary: Summary, layout: Layout, ends_a_run: bool = False) -> Document:
    """The table of a result with everything around it, and its records and JSON. ends_a_run: the
    answers stand last, because a terminal shows the end of a long output."""
    matrix, unused, notes = summary.matrix, summary.published_unused, columns.Footnotes()
    table = result_table(summary, layout, notes)
    answers, claims = answers_of(summary), claims_pairs(matrix)
    answered, deciding = answers_and_opposed(summary, answers), deciding_pairs(answers)
    remarks = []
    if unused:
        remarks.append(f"{counted_text(len(unused), 'published figure')} of cells that are not in "
                       f"this result, as {unused[0]}")
    if summary.gain and not summary.gains:
        remarks.append(f"no gain of {summary.gain}: no cell shares a good round with a baseline")
    foot = [*legend_pairs(summary, table), *notes.lines(),
            *library_pairs(matrix, summary.metrics),
            *(("note", remark) for remark in (*remarks, *matrix.result.notes))]
    return Document(
        title_text(matrix),
        [Section(heading_pairs(summary, columns.scales_choose(summary)), [table])], foot,
        answer=[] if ends_a_run else answered,
        end=[*claims, *(answered if ends_a_run else []), *deciding],
        records=lambda: result_frame(summary), data=lambda: summary_json(summary))


def figure_censored(figure: Figure) -> str:
    """Which part of a figure is only a bound: `median`, `high` (end of its interval), or ""."""
    if isinstance(figure.median, stats.Beyond):
        return "median"
    return "high" if figure.interval and isinstance(figure.interval.high, stats.Beyond) else ""


def estimate_fields(name: str, ratio: stats.Estimate, offset: float,
                    judged: Judged | None) -> Fields:
    """A ratio and its interval, each minus the offset, and its verdict. None: unknown."""
    interval = None if ratio.directed else ratio.interval
    return {name: None if ratio.directed else ratio.value - offset,
            f"{name}_low": interval.low - offset if interval else None,
            f"{name}_high": interval.high - offset if interval else None,
            f"{name}_verdict": verdict_name(judged) if judged else None}


def result_frame(summary: Summary) -> pd.DataFrame:
    """The CSV, in SI units: by column a part of cell_json(), NaN where a cell has none.
    METRIC_censored is there if some figure is only a bound (docs/methodology.md, "Quantiles")."""
    cells = pd.json_normalize([cell_json(summary, cell) for cell in summary.matrix.cells.values()])
    names, compared = [metric.name for metric in summary.metrics], columns.ratio_metrics(summary)
    paths = {
        "status": "status", **{axis: f"axes.{axis}" for axis in summary.matrix.axes},
        **{name + end: f"metrics.{name}.{part}"
           for name in names for end, part in FIGURE_PARTS.items()},
        **{f"{name}_censored": path for name in names
           if (path := f"metrics.{name}.censored") in cells},
        **{f"{summary.gain}_{part}": f"gain.{part}" for part in GAIN_PARTS if summary.gain},
        **{f"{summary.best_metric}_{part}": f"best.{part}" for part in BEST_PARTS if summary.best},
        **{name + end: f"metrics.{name}.ratio.{part}"
           for name in names if name in compared for end, part in RATIO_PARTS.items()}}
    return cells.reindex(columns=paths.values()).set_axis(list(paths), axis="columns")


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
    if figure.judged and figure.ratio:
        value["ratio"] = ratio_json(figure.ratio) | {"verdict": verdict_name(figure.judged)}
    return value | published_json(figure.published)


def published_json(ratios: Iterable[PublishedRatio]) -> dict[str, Any]:
    return {f"published {one.figure.set}".rstrip(): {
        "value": one.figure.value, "from": one.figure.source, "ratio": one.ratio}
        for one in ratios}


def groups_json(optima: Sequence[Optimum]) -> list[dict[str, Any]]:
    return [{"words": dict(optimum.place), "best": optimum.best, "alike": list(optimum.alike),
             "answer": optimum_text(optimum)} for optimum in optima]


def cell_json(summary: Summary, cell: Cell) -> dict[str, Any]:
    figures, gain = summary.figures[cell.name], summary.gains.get(cell.name)
    value: dict[str, Any] = {
        "cell": cell.name, "status": cell.status, "axes": dict(cell.axes),
        "baseline": cell.baseline, "runs_ok": cell.runs_ok, "runs_failed": cell.runs_failed}
    if cell.reasons:
        value["reasons"] = list(cell.reasons)
    if gain:
        value["gain"] = {
            "pre": gain.pre, "post": gain.post,
            **estimate_fields("gain", gain.ratio, 1, gain.judged), "gain_worst": gain.worst,
            "gain_best": gain.best, "pairs": gain.ratio.pairs, **published_json(gain.published)}
    if summary.best:
        value["best"] = {"mark": columns.best_mark(summary, cell)}
        metric = summary.metrics[0]
        if (figure := figures.get(metric.name)) and figure.ratio:
            value["best"] |= estimate_fields(
                "better", better_ratio(figure.ratio, metric), 0, figure.judged)
    return value | {"metrics": {name: figure_json(figure) for name, figure in figures.items()}}


def summary_json(summary: Summary) -> dict[str, Any]:
    matrix = summary.matrix
    return {
        "schema": 1, "result": matrix.result.name, "question": matrix.result.scenario.question,
        "source": matrix.result.scenario.source, "axes": list(matrix.axes),
        "rounds": matrix.rounds, "baseline": dict(summary.baseline),
        "metrics": {m.name: {"unit": m.unit, "better": m.better, "means": m.means,
                             "noise_floors": {cell: same.reach - 1 for cell, same in
                                              summary.same[m.name].items() if same.reach}}
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
