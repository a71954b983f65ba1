# SPDX-License-Identifier: MIT
"""Invented results of several sessions, and pairs of them from machines that differ."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from result_make import FACTS, Recipe, request_record, result_write

STRATEGIES = ["nodelay", "cork", "writev"]
FIXED = {"workload": "request", "message": "15x2", "reply": "2"}


def record_slow(record: dict[str, Any], factor: float) -> dict[str, Any]:
    """The record of a run that took so many times as long."""
    for end in ("client", "server"):
        for thread in record[end]["threads"]:
            for key in ("ended_ns", "elapsed_ns"):
                thread[key] = int(thread[key] * factor)
    return record


def recipe_sessions(name: str, factors: Sequence[float], rounds: int = 6,
                    sweep: dict[str, list[str]] | None = None) -> Recipe:
    """Two placements and three strategies, one session of rounds for each factor, by which its
    times are longer."""
    def record(words: dict[str, str], number: int, chance: random.Random) -> dict[str, Any]:
        session = max(number - 1, 0) // rounds
        return record_slow(request_record(words, number % rounds, chance), factors[session])
    return Recipe(name, FIXED, sweep or {"place": ["together", "apart"], "write": STRATEGIES},
                  rounds * len(factors),
                  "write=nodelay", record)


def sessions_write(recipe: Recipe, folder: Path, sessions: int, facts: dict[str, Any] | None = None,
                   **plan: Any) -> Path:
    """Writes a result whose rounds are of so many sessions, on a machine with these facts beside
    the usual ones."""
    path = result_write(recipe, folder)
    host, rounds = f"{recipe.name}-boot", recipe.rounds // sessions
    document = json.loads((path / "plan.json").read_text())
    names = [f"{recipe.name}-{index + 1}" for index in range(sessions)]
    document |= plan | {"rounds": rounds, "boot": host, "sessions": [
        {"session": name, "boot": host, "started_unix_ns": 1 + index,
         "rounds": [index * rounds + 1, (index + 1) * rounds]} for index, name in enumerate(names)]}
    (path / "plan.json").write_text(json.dumps(document, indent=1) + "\n")
    (path / "hosts.json").write_text(json.dumps({host: {**FACTS, **(facts or {})}}, indent=1) +
                                     "\n")
    lines = []
    for line in (path / "records.jsonl").read_text().splitlines():
        record = json.loads(line)
        record["run"]["session"] = names[max(record["run"]["round"] - 1, 0) // rounds]
        for end in ("client", "server"):
            if end in record:
                record[end]["host"] = host
        lines.append(json.dumps(record, separators=(",", ":")))
    (path / "records.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return path
