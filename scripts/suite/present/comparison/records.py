# SPDX-License-Identifier: MIT
"""Comparisons as records (CSV) and as JSON, in base units and fractions (docs/record.md)."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from suite import stats
from suite.decide.comparison.model import Change, Comparison, Mean, Row, Side
from suite.present.comparison import wording
from suite.present.judged import verdict_name
from suite.present.table import figure_json, ratio_json
from suite.result.files import path_shown

PATHS = {  # by column of a CSV its place in change_json()
    "base": "base.median", "base_low": "base.low", "base_high": "base.high",
    "base_rounds": "base.rounds",
    "new": "new.median", "new_low": "new.low", "new_high": "new.high", "new_rounds": "new.rounds",
    "change": "ratio.value", "change_low": "ratio.low", "change_high": "ratio.high",
    "p": "ratio.p", "confidence": "confidence", "status": "status", "verdict": "verdict",
    "pairs": "ratio.pairs", "detectable": "detectable", "base_outliers": "outliers.base",
    "new_outliers": "outliers.new", "noise_floor": "noise_floor",
    "base_censored": "base.censored", "new_censored": "new.censored"}


def comparison_frame(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """The CSV: for each metric a record of every row, then one of its geometric mean."""
    records: list[dict[str, Any]] = []
    for one in comparisons:
        for metric in one.metrics:
            head = {"metric": metric.name, "unit": metric.unit, "base_name": one.base.name,
                    "new_name": one.new.name}
            for row in one.rows:
                change = row.changes.get(metric.name)
                records.append({**head, "row": "cell", **row.axes,
                                **(change_json(change) if change else {})})
            if mean := one.geomeans.get(metric.name):
                records.append({**head, "row": wording.MEAN, "verdict": mean.verdict.value,
                                "ratio": change_ratio_json(mean.ratio)})
    names = ["metric", "unit", "base_name", "new_name", "row", *wording.axes_of(comparisons)]
    frame = pd.json_normalize(records).reindex(columns=[*names, *PATHS.values()])
    frame.columns = pd.Index([*names, *PATHS])
    changes = ["change", "change_low", "change_high"]
    frame[changes] = frame[changes].astype(float) - 1  # in JSON they are ratios
    return frame


def side_json(side: Side) -> dict[str, Any]:
    return {"name": side.name, "result": path_shown(side.matrix.result.folder),
            "words": dict(side.words), "sessions": list(side.sessions)}


def change_ratio_json(ratio: stats.Estimate) -> dict[str, Any]:
    return ratio_json(ratio) | {"p": ratio.p}


def change_json(change: Change) -> dict[str, Any]:
    return {"base": figure_json(change.base), "new": figure_json(change.new),
            "ratio": change_ratio_json(change.ratio) if change.ratio else None,
            "status": change.contrast.status.value, "confidence": 1 - change.judged.family.alpha,
            "verdict": verdict_name(change.judged), "detectable": change.judged.detectable,
            "noise_floor": wording.floor_fraction(change.same),
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
