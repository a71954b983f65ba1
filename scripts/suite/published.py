# SPDX-License-Identifier: MIT
"""What others measured: from a row of scenarios/published/*.csv to the value a scenario quotes.

A scenario says `from = "FILE:ROW"`; the rule of the file says which columns name the row (joined
by `/`) and how each metric follows from it. This table is the only place with such rules.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from suite.errors import UsageError, nearest_hint

Row = Mapping[str, str]


@dataclass(frozen=True)
class Rule:
    """Which columns name a row, and each metric, in its base unit, as a function of the row."""

    key: tuple[str, ...]
    metrics: Mapping[str, Callable[[Row], float]]


RULES = {
    # 10 000 packets (messages) one after the other; the total is of all of them.
    "tcp_nodelay.csv": Rule(("mode",), {
        "time_per_message": lambda row: float(row["total_ms"]) / float(row["packets"]) / 1000,
    }),
    # All of the data through one connection.
    "uring_bundles.csv": Rule(("method",), {
        "bandwidth": lambda row: 8e6 * float(row["total_mb"]) / (float(row["time_ms"]) / 1000),
    }),
}


def rows_read(path: Path, rule: Rule) -> dict[str, Row]:
    """The rows of a published file by name."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return {"/".join(row[key] for key in rule.key): row for row in csv.DictReader(file)}
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file of published figures") from None


def published_recompute(source: str, metric: str, folder: Path) -> float:
    """The value of metric that `source` (FILE:ROW) stands for, from the files in folder.

    UsageError where there is no such file, rule, row or metric.
    """
    name, _, key = source.partition(":")
    if name not in RULES:
        raise UsageError(f'"{source}": no rule for {name or "no file"}{nearest_hint(name, RULES)}')
    rule = RULES[name]
    if metric not in rule.metrics:
        hint = nearest_hint(metric, rule.metrics)
        raise UsageError(f'"{source}" does not tell {metric}{hint}')
    rows = rows_read(folder / name, rule)
    if key not in rows:
        raise UsageError(f'"{source}": no row "{key}" in {name}{nearest_hint(key, rows)}')
    return rule.metrics[metric](rows[key])
