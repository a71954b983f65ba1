# SPDX-License-Identifier: MIT
"""Comparisons in the format of hyperfine's --export-json, for its scripts: an entry for each cell.
hyperfine measures how long a fixed amount of work takes. A run that ends after a set duration has
no such time, so that its comparison is refused."""

import json
import statistics
from collections.abc import Sequence
from typing import Any

from suite.base.by_hand import command_by_hand
from suite.base.errors import UsageError
from suite.decide.comparison.differences import times_check
from suite.decide.comparison.model import Comparison, Row, Side
from suite.observe.frame import Cell
from suite.result.plan import folders_of

WORK = ("messages", "bytes")  # words that set the amount of work of a run


def entry_json(row: Row, side: Side, cell: Cell) -> dict[str, Any] | None:
    """One entry with times in seconds; None without a good round. UsageError for a cell that ends
    after a set time, not after a set amount of work."""
    if not any(cell.given.get(word, cell.words.get(word)) for word in WORK):
        name = cell.name or side.matrix.result.name
        raise UsageError(f"--hyperfine: {name} runs for a set time, so that its time says nothing: "
                         f"give {'= or '.join(WORK)}= to uncork run")
    known = {name: side.matrix.series(cell.name, name).values.tolist()
             for name in ("time", "user", "system")}
    means = {name: statistics.fmean(values) for name, values in known.items() if values}
    times = known["time"]
    if not times:
        return None
    return {
        "command": command_by_hand(cell.given or cell.words, folders_of(side.matrix.result.plan)),
        "mean": means["time"], "stddev": statistics.stdev(times) if len(times) > 1 else None,
        "median": statistics.median(times),
        "user": means.get("user"), "system": means.get("system"),
        "min": min(times), "max": max(times), "times": times, "exit_codes": [0] * len(times),
        "parameters": {"side": side.name,
                       **{axis: value or "none" for axis, value in row.axes.items()}},
    }


def render(comparisons: Sequence[Comparison]) -> str:
    """An entry for each cell; a base that comparisons share has one."""
    entries: list[dict[str, Any]] = []
    for comparison in comparisons:
        times_check(comparison, "--hyperfine")
        found = [entry_json(*place) for place in comparison.cells()]
        entries += [entry for entry in found if entry and entry not in entries]
    return json.dumps({"results": entries}, indent=2) + "\n"
