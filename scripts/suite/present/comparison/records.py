# SPDX-License-Identifier: MIT
"""Comparisons as records (CSV) and as JSON, in base units and fractions (docs/record.md)."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from suite import stats
from suite.decide.comparison.model import Change, Comparison, Mean, Row, Side
from suite.present.comparison import wording
from suite.present.judged import verdict_name
from suite.present.table import Fields, estimate_fields, figure_fields, figure_json, ratio_json
from suite.result.files import path_shown

FIELDS = ("base", "base_low", "base_high", "base_rounds", "new", "new_low", "new_high",
          "new_rounds", "change", "change_low", "change_high", "p", "confidence", "status",
          "verdict", "pairs", "detectable", "base_outliers", "new_outliers", "noise_floor",
          "base_censored", "new_censored")


def judged_fields(change: Change) -> dict[str, Any]:
    """What CSV and JSON have alike of a change."""
    return {"status": change.contrast.status.value, "confidence": 1 - change.judged.family.alpha,
            "verdict": verdict_name(change.judged), "detectable": change.judged.detectable,
            "noise_floor": wording.floor_fraction(change.same)}


def change_ratio_fields(ratio: stats.Estimate | None) -> Fields:
    return {} if ratio is None else {
        **estimate_fields("change", ratio, 1), "pairs": ratio.pairs, "p": ratio.p}


def change_fields(change: Change | None) -> Fields:
    """FIELDS of one row and one metric; empty where a side has no such figure."""
    return {} if change is None else {
        **figure_fields("base", change.base), **figure_fields("new", change.new),
        **change_ratio_fields(change.ratio), **judged_fields(change),
        "base_outliers": change.outliers[0], "new_outliers": change.outliers[1]}


def comparison_fields(comparisons: Sequence[Comparison]) -> list[str]:
    return ["metric", "unit", "base_name", "new_name", "row",
            *wording.axes_of(comparisons), *FIELDS]


def comparison_records(comparisons: Sequence[Comparison]) -> Iterator[Fields]:
    """For each metric a record of every row, then one of its geometric mean."""
    for one in comparisons:
        for metric in one.metrics:
            head: Fields = {"metric": metric.name, "unit": metric.unit,
                            "base_name": one.base.name, "new_name": one.new.name}
            yield from ({**head, "row": "cell", **row.axes,
                         **change_fields(row.changes.get(metric.name))} for row in one.rows)
            mean = one.geomeans.get(metric.name)
            if mean is not None:
                yield {**head, "row": wording.MEAN, **change_ratio_fields(mean.ratio),
                       "verdict": mean.verdict.value}


def side_json(side: Side) -> dict[str, Any]:
    return {"name": side.name, "result": path_shown(side.matrix.result.folder),
            "words": dict(side.words), "sessions": list(side.sessions)}


def change_ratio_json(ratio: stats.Estimate) -> dict[str, Any]:
    return ratio_json(ratio) | {"p": ratio.p}


def change_json(change: Change) -> dict[str, Any]:
    return {"base": figure_json(change.base), "new": figure_json(change.new),
            "ratio": change_ratio_json(change.ratio) if change.ratio else None,
            **judged_fields(change),
            "outliers": {"base": change.outliers[0], "new": change.outliers[1]}}


def row_json(row: Row) -> dict[str, Any]:
    """One row: its axes, and its cells by name (null: the side has no such cell)."""
    return {"axes": dict(row.axes), "base": row.base.name if row.base else None,
            "new": row.new.name if row.new else None}


def mean_json(comparison: Comparison, mean: Mean | None) -> dict[str, Any] | None:
    """A geometric mean and the rows that it leaves out; null without a mean."""
    return None if mean is None else {
        **change_ratio_json(mean.ratio), "verdict": mean.verdict.value,
        "rows": mean.rows, "all": mean.every,
        "left_out": {wording.row_name(comparison.rows[place]): why
                     for place, why in mean.left_out.items()}}


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "base": side_json(comparison.base), "new": side_json(comparison.new),
        "paired": comparison.paired, "unit": comparison.unit.value,
        "forced": bool(comparison.refusing), "axes": list(comparison.axes),
        "differences": [{"of" if key == "kind" else key: value
                         for key, value in asdict(one).items()}
                        for one in comparison.differences],
        "metrics": {metric.name: {
            "unit": metric.unit, "better": metric.better,
            "noise_floor": wording.floor_fraction(comparison.same_widest(metric.name)),
            "geomean": mean_json(comparison, comparison.geomeans.get(metric.name)),
            "opposed": wording.opposed_of(comparison, metric) or None,
            "tested": comparison.family(metric.name).tested,
            "hopeless": comparison.family(metric.name).hopeless}
            for metric in comparison.metrics},
        "rows": [row_json(row) | {"changes": {name: change_json(change) for name, change in
                                              row.changes.items()}} for row in comparison.rows],
        "notes": list(comparison.notes),
    }


def comparisons_json(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    return {"schema": 1, "comparisons": [comparison_json(one) for one in comparisons]}
