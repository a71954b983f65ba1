# SPDX-License-Identifier: MIT
"""Comparisons for programs, in base units and fractions (docs/record.md)."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from suite import stats
from suite.analyse.comparison.differences import differences_refusing
from suite.analyse.comparison.model import Change, Comparison, Mean, Row, Side
from suite.present.comparison import wording
from suite.present.table import Parts, estimate_parts, figure_json, figure_parts, ratio_json

PARTS = ("base", "base_low", "base_high", "base_rounds", "new", "new_low", "new_high", "new_rounds",
         "change", "change_low", "change_high", "p", "p_adjusted", "verdict", "pairs", "detectable",
         "base_outliers", "new_outliers", "noise_floor", "base_censored", "new_censored")


def change_ratio_parts(ratio: stats.Estimate | None) -> Parts:
    return {} if ratio is None else {
        **estimate_parts("change", ratio, 1), "pairs": ratio.pairs, "p": ratio.p}


def change_parts(change: Change | None) -> Parts:
    """One row of one metric by PARTS; empty where one side lacks it."""
    return {} if change is None else {
        **figure_parts("base", change.base), **figure_parts("new", change.new),
        **change_ratio_parts(change.ratio),
        "p_adjusted": change.adjusted, "verdict": change.verdict.value,
        "detectable": change.detectable, "base_outliers": change.outliers[0],
        "new_outliers": change.outliers[1], "noise_floor": wording.floor_fraction(change.floor)}


def comparison_heads(comparisons: Sequence[Comparison]) -> list[str]:
    return ["metric", "unit", "base_name", "new_name", "row",
            *dict.fromkeys(axis for one in comparisons for axis in one.axes), *PARTS]


def comparison_records(comparisons: Sequence[Comparison]) -> Iterator[Parts]:
    """One line for each metric and row, then its geometric mean, by comparison_heads()."""
    for one in comparisons:
        for metric in one.metrics:
            head: Parts = {"metric": metric.name, "unit": metric.unit, "base_name": one.base.name,
                           "new_name": one.new.name}
            yield from ({**head, "row": "cell", **row.axes,
                         **change_parts(row.changes.get(metric.name))} for row in one.rows)
            mean = one.geomeans.get(metric.name)
            if mean is not None:
                yield {**head, "row": wording.MEAN, **change_ratio_parts(mean.ratio),
                       "verdict": mean.verdict.value}


def side_json(side: Side) -> dict[str, Any]:
    return {"name": side.name, "result": str(side.matrix.result.folder), "words": dict(side.words),
            "sessions": list(side.sessions)}


def change_ratio_json(ratio: stats.Estimate) -> dict[str, Any]:
    return ratio_json(ratio) | {"p": ratio.p}


def change_json(change: Change) -> dict[str, Any]:
    return {"base": figure_json(change.base), "new": figure_json(change.new),
            "ratio": change_ratio_json(change.ratio) if change.ratio else None,
            "p_adjusted": change.adjusted, "verdict": change.verdict.value,
            "detectable": change.detectable,
            "noise_floor": wording.floor_fraction(change.floor),
            "outliers": {"base": change.outliers[0], "new": change.outliers[1]}}


def row_json(row: Row) -> dict[str, Any]:
    """One row: its words, its cells by name (null: that side has none), its changes."""
    return {"axes": dict(row.axes), "base": row.base.name if row.base else None,
            "new": row.new.name if row.new else None,
            "changes": {name: change_json(change) for name, change in row.changes.items()}}


def mean_json(comparison: Comparison, mean: Mean | None) -> dict[str, Any] | None:
    """A geometric mean and the rows that it leaves out; null where there is none."""
    return None if mean is None else {
        **change_ratio_json(mean.ratio), "verdict": mean.verdict.value,
        "rows": mean.rows, "all": mean.every,
        "left_out": {wording.row_name(comparison.rows[place]): why
                     for place, why in mean.left_out.items()}}


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "base": side_json(comparison.base), "new": side_json(comparison.new),
        "paired": comparison.paired, "unit": comparison.unit.value,
        "forced": bool(differences_refusing(comparison)), "axes": list(comparison.axes),
        "differences": [{"of" if key == "kind" else key: value
                         for key, value in asdict(one).items()}
                        for one in comparison.differences],
        "metrics": {metric.name: {
            "unit": metric.unit, "better": metric.better,
            "noise_floor": wording.floor_fraction(comparison.floor_highest(metric.name)),
            "geomean": mean_json(comparison, comparison.geomeans.get(metric.name)),
            "opposed": wording.opposed_of(comparison, metric) or None,
            "tested": comparison.tested.get(metric.name, 0),
            "hopeless": metric.name in comparison.hopeless}
            for metric in comparison.metrics},
        "rows": [row_json(row) for row in comparison.rows], "notes": list(comparison.notes),
    }


def comparisons_json(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    return {"schema": 1, "comparisons": [comparison_json(one) for one in comparisons]}
