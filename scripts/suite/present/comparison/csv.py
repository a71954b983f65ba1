# SPDX-License-Identifier: MIT
"""Comparisons for programs: one line per metric and row, then its geometric mean; base units and
fractions."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from suite import stats
from suite.analyse.comparison.model import Change, Comparison
from suite.analyse.metrics import Metric
from suite.analyse.summary import Figure
from suite.present.comparison.json import VERDICTS
from suite.present.comparison.texts import floor_fraction, mean_verdict
from suite.present.table import csv_number, figure_censored

CELL, MEAN = "cell", "geomean"  # of the column `row`
PARTS = ("base", "base_low", "base_high", "base_rounds", "new", "new_low", "new_high", "new_rounds",
         "change", "change_low", "change_high", "p", "p_adjusted", "verdict", "pairs", "detectable",
         "base_outliers", "new_outliers", "noise_floor", "base_censored", "new_censored")


def figure_parts(name: str, figure: Figure) -> dict[str, str]:
    """One side."""
    within = figure.interval
    return {name: csv_number(figure.median),
            f"{name}_low": csv_number(within.low if within else None),
            f"{name}_high": csv_number(within.high if within else None),
            f"{name}_rounds": str(figure.rounds),
            f"{name}_censored": figure_censored(figure)}


def ratio_parts(ratio: stats.Estimate | None) -> dict[str, str]:
    """The change; empty where there is none."""
    if ratio is None:
        return {}
    if ratio.directed:
        return {"pairs": str(ratio.pairs), "p": csv_number(ratio.p)}
    within = ratio.interval
    return {"change": csv_number(ratio.value - 1),
            "change_low": csv_number(within.low - 1 if within else None),
            "change_high": csv_number(within.high - 1 if within else None),
            "pairs": str(ratio.pairs),
            "p": csv_number(ratio.p)}


def change_parts(change: Change) -> dict[str, str]:
    """One row of one metric by PARTS."""
    return figure_parts("base",
                        change.base) | figure_parts("new",
                                                    change.new) | ratio_parts(change.ratio) | {
        "p_adjusted": csv_number(change.adjusted), "verdict": VERDICTS[change.verdict],
        "detectable": csv_number(change.detectable),
        "base_outliers": str(change.outliers[0]), "new_outliers": str(change.outliers[1]),
        "noise_floor": csv_number(floor_fraction(change.floor))}


def lines_of(comparison: Comparison,
             metric: Metric) -> Iterable[tuple[str, Mapping[str, str], Mapping[str, str]]]:
    """(CELL or MEAN, the words of the row, PARTS) of one metric; a row that one side lacks has no
    parts."""
    for row in comparison.rows:
        change = row.changes.get(metric.name)
        yield CELL, row.axes, change_parts(change) if change else {}
    mean = comparison.geomeans.get(metric.name)
    if mean is not None:
        yield MEAN, {}, ratio_parts(mean.ratio) | {"verdict": VERDICTS[mean_verdict(mean)]}


def render(comparisons: Sequence[Comparison]) -> str:
    """All comparisons under one head: metric, sides, row, the axes of all, PARTS."""
    axes = list(dict.fromkeys(axis for one in comparisons for axis in one.axes))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["metric", "unit", "base_name", "new_name", "row", *axes, *PARTS])
    for one in comparisons:
        for metric in one.metrics:
            for kind, words, parts in lines_of(one, metric):
                writer.writerow([metric.name, metric.unit, one.base.name, one.new.name, kind,
                                 *(words.get(axis, "") for axis in axes),
                                 *(parts.get(part, "") for part in PARTS)])
    return out.getvalue()
