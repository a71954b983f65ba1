# SPDX-License-Identifier: MIT
"""What others measured: from a row of scenarios/published/*.csv to the value a scenario quotes.

A scenario says `from = "FILE:ROW"`; the rule of the file says which columns name the row (joined
by `/`) and how each metric follows from it. This table is the only place with such rules.
A row may hold several figures of one metric: then `FILE:ROW/CASE`, and the rule knows the cases.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from suite.base.errors import UsageError, nearest_hint

CsvRow = dict[str, str]
VALUE = "value"  # of the case of a row


@dataclass(frozen=True)
class Rule:
    """Which columns name a row, and each metric, in its base unit, as a function of the row.

    cases: the column VALUE of the row for each name of a case; empty where a row is one figure.
    """

    key: tuple[str, ...]
    metrics: Mapping[str, Callable[[CsvRow], float]]
    cases: Mapping[str, str] = field(default_factory=dict)


def value_in(row: CsvRow, unit: str) -> float:
    """The value of a row that says its unit; UsageError where that is another."""
    if row["unit"] != unit:
        raise UsageError(f'row "{row["test"]}/{row["case"]}" is in {row["unit"]}, not in {unit}')
    return float(row[VALUE])


RULES = {
    # 10 000 packets (messages) one after the other; the total is of all of them.
    "tcp_nodelay.csv": Rule(("mode",), {
        "time_per_message": lambda row: float(row["total_ms"]) / float(row["packets"]) / 1000,
    }),
    # All of the data through one connection.
    "uring_bundles.csv": Rule(("method",), {
        "bandwidth": lambda row: 8e6 * float(row["total_mb"]) / (float(row["time_ms"]) / 1000),
    }),
    # An image of 10 GiB, read or written by SO_SNDBUF in bytes.
    "unix_sndbuf.csv": Rule(("test", "sndbuf"), {
        "time": lambda row: float(row["time_s"]), "user": lambda row: float(row["user_s"]),
        "system": lambda row: float(row["system_s"]),
    }),
    # Random reads answered per second, before and after header and payload were corked.
    "nbd_cork.csv": Rule(("set", "transport", "security"), {
        "messages_per_second": lambda row: float(row[VALUE]),
    }, {"pre": "pre_iops", "post": "post_iops"}),
    # The same by the size of the payload and by up to which size it was corked.
    "nbd_tls_cutoff.csv": Rule(("cork", "size"), {
        "messages_per_second": lambda row: float(row["iops"]),
    }),
    # What one patch after the other did to DRBD; each row has a figure of its own, in its own unit.
    "drbd.csv": Rule(("test", "case"), {
        "handover_p50": lambda row: 1e-6 * value_in(row, "microseconds"),
        "peer_window": lambda row: value_in(row, "bytes at most"),
        "largest_segment": lambda row: value_in(row, "bytes"),
        "smallest_segment": lambda row: value_in(row, "bytes"),
    }),
}


def rows_read(path: Path, rule: Rule) -> dict[str, CsvRow]:
    """The rows of a published file by name, each of its cases by itself."""
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = {"/".join(row[key] for key in rule.key): row for row in csv.DictReader(file)}
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file of published figures") from None
    if not rule.cases:
        return rows
    return {f"{name}/{case}": row | {VALUE: row[column]}
            for name, row in rows.items() for case, column in rule.cases.items()}


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
