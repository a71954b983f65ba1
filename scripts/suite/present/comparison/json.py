# SPDX-License-Identifier: MIT
"""Comparisons as one JSON object with everything that is known, base units and fractions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from suite import stats
from suite.analyse.comparison.model import Change, Comparison, Mean, Row, Side
from suite.analyse.comparison.refusals import forced
from suite.analyse.verdicts import Verdict
from suite.present import table
from suite.present.comparison.texts import floor_fraction, row_name
from suite.present.table import figure_json

VERDICTS = {Verdict.CHANGED: "changed", Verdict.BRACKETED: "bracketed", Verdict.SAME: "same",
            Verdict.UNKNOWN: "unknown", Verdict.EXACT: "exact"}


def side_json(side: Side) -> dict[str, Any]:
    """One side."""
    return {"name": side.name, "result": str(side.matrix.result.folder), "words": dict(side.words),
            "sessions": list(side.sessions)}


def ratio_json(ratio: stats.Estimate | None) -> dict[str, Any] | None:
    """new / base with its interval; null where there is none."""
    if ratio is None:
        return None
    return table.ratio_json(ratio) | {"p": ratio.p}


def change_json(change: Change) -> dict[str, Any]:
    """One metric of one row."""
    base, new = (figure_json(replace(figure, published=())) for figure in (change.base, change.new))
    return {"base": base, "new": new, "ratio": ratio_json(change.ratio),
            "p_adjusted": change.adjusted, "verdict": VERDICTS[change.verdict],
            "detectable": change.detectable,
            "noise_floor": floor_fraction(change.floor),
            "outliers": {"base": change.outliers[0], "new": change.outliers[1]}}


def row_json(row: Row) -> dict[str, Any]:
    """One row: its words, its cells by name (null: that side has none), its changes."""
    return {"axes": dict(row.axes), "base": row.base.name if row.base else None,
            "new": row.new.name if row.new else None,
            "changes": {name: change_json(change) for name, change in row.changes.items()}}


def mean_json(comparison: Comparison, mean: Mean | None) -> dict[str, Any] | None:
    """A geometric mean and the rows that it leaves out; null where there is none."""
    if mean is None:
        return None
    left_out = {row_name(comparison.rows[place]): why for place, why in mean.left_out.items()}
    return {**(ratio_json(mean.ratio) or {}), "rows": mean.rows, "left_out": left_out}


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """One comparison."""
    return {
        "base": side_json(comparison.base), "new": side_json(comparison.new),
        "paired": comparison.paired, "unit": comparison.unit.value,
        "forced": bool(forced(comparison)), "axes": list(comparison.axes),
        "differences": [asdict(difference) for difference in comparison.differences],
        "metrics": {metric.name: {
            "unit": metric.unit, "better": metric.better,
            "noise_floor": floor_fraction(comparison.floor_most(metric.name)),
            "geomean": mean_json(comparison, comparison.geomeans.get(metric.name)),
            "tested": comparison.tested.get(metric.name, 0),
            "hopeless": metric.name in comparison.hopeless}
            for metric in comparison.metrics},
        "rows": [row_json(row) for row in comparison.rows], "notes": list(comparison.notes),
    }


def render(comparisons: Sequence[Comparison]) -> str:
    """All comparisons."""
    value = {"schema": 1, "comparisons": [comparison_json(one) for one in comparisons]}
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
