# SPDX-License-Identifier: MIT
"""Results with known truth: a script draws every time, so that what is said of a row is right or
wrong."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from result_make import Recipe, ends_of, histogram_of, tcp_info_of, thread_of
from sessions_make import record_slow, sessions_write

from suite.base.words import words_split

BASE_NS, MESSAGES, SEGMENTS = 40_000, 1000, 15
PLACES = {"place": ["together", "apart"], "write": ["nodelay", "cork", "more", "writev"]}
SIZES = {"message": ["64", "256", "1K"],
         "write": ["nodelay", "cork", "more", "writev", "coalesce", "nagle"]}  # 15 rows
By = Mapping[str, float]  # by words of cells; all that fit a cell are multiplied


@dataclass(frozen=True)
class Truth:
    """What a script draws.

    factors: how many times as long a message of these cells takes. noise: standard deviation of the
    logarithm of a time; noises: how many times that for these cells. drift: by how much each round
    is slower than the one before. again: A' takes so many times as long as A. fails: the rounds in
    which these cells fail, from 1; slow: in which they take ten times as long. segments: of a
    message, by words. late: the cells that leave requests unsent. sessions: the factor of each
    session. facts, programs: of its machine and its plan. other: a second result, which it is
    compared with. metrics: what is asked of it.
    """

    factors: By = field(default_factory=dict)
    noise: float = 0.01
    noises: By = field(default_factory=dict)
    rounds: int = 10
    drift: float = 0.0
    again: float = 1.0
    fails: Mapping[str, Sequence[int]] = field(default_factory=dict)
    slow: Mapping[str, Sequence[int]] = field(default_factory=dict)
    segments: Mapping[str, int] = field(default_factory=dict)
    late: tuple[str, ...] = ()
    sessions: tuple[float, ...] = (1.0,)
    sweep: Mapping[str, list[str]] = field(default_factory=lambda: PLACES)
    facts: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)
    other: Truth | None = None
    metrics: tuple[str, ...] = ("time_per_message",)
    seed: int = 1


def fits(wanted: str, words: Mapping[str, str]) -> bool:
    """Whether a cell has all words of a text, `place=apart write=cork`."""
    return words_split(wanted.split()).items() <= words.items()


def product_of(by: By, words: Mapping[str, str]) -> float:
    """The product of all that fits a cell."""
    found = 1.0
    for wanted, factor in by.items():
        found *= factor if fits(wanted, words) else 1.0
    return found


def is_listed(rounds: Mapping[str, Sequence[int]], words: Mapping[str, str], number: int) -> bool:
    """Whether a round is listed for a cell."""
    return any(number in found for wanted, found in rounds.items() if fits(wanted, words))


def record_make(truth: Truth, words: dict[str, str], number: int, chance: random.Random
                ) -> dict[str, Any]:
    """The record of one run of MESSAGES messages."""
    if is_listed(truth.fails, words, number):
        return {"schema": 1, "uncork": "0.1.0", "status": "failed", "phase": "run",
                "reason": "server: connection reset by peer", "words": words}
    session = truth.sessions[max(number - 1, 0) * len(truth.sessions) // truth.rounds]
    noise = truth.noise * product_of(truth.noises, words)
    mean_ns = (BASE_NS * product_of(truth.factors, words) * session * (1 + truth.drift) ** number *
               chance.lognormvariate(0, noise))
    mean_ns *= 10 if is_listed(truth.slow, words, number) else 1
    segments = segments_of(truth, words) * MESSAGES
    elapsed = int(mean_ns * MESSAGES)
    late = MESSAGES // 20 if any(fits(wanted, words) for wanted in truth.late) else 0
    open_loop = {"due": MESSAGES + late, "late": late} if truth.late else {}
    client = thread_of(words, 0, elapsed, {"send": MESSAGES, "recv": MESSAGES}, elapsed // 3,
                       messages_sent=MESSAGES, bytes_sent=30 * MESSAGES,
                       messages_received=MESSAGES, bytes_received=2 * MESSAGES,
                       latency=histogram_of(mean_ns, MESSAGES), **open_loop)
    server = thread_of(words, 1, elapsed, {"send": MESSAGES, "recv": segments}, elapsed // 4,
                       messages_sent=MESSAGES, bytes_sent=2 * MESSAGES,
                       messages_received=MESSAGES, bytes_received=30 * MESSAGES)
    client["tcp_info"] = tcp_info_of(segments, MESSAGES)
    server["tcp_info"] = tcp_info_of(MESSAGES, segments)
    return ends_of({"message": "15x2"} | words, client, server) | {"words": words}


def truth_write(name: str, truth: Truth, folder: Path) -> Path:
    """Writes the result into folder/NAME and gives that path."""
    fixed = {"workload": "request", "reply": "2"}
    fixed |= {} if "message" in truth.sweep else {"message": "15x2"}
    fixed |= {} if "place" in truth.sweep else {"place": "apart"}
    fixed |= {"rate": "20000"} if truth.late else {}
    recipe = Recipe(name, fixed, dict(truth.sweep), truth.rounds, "write=nodelay",
                    lambda words, number, chance: record_make(truth, words, number, chance))
    path = sessions_write(recipe, folder, len(truth.sessions), dict(truth.facts),
                          **truth.programs)
    records = [json.loads(line) for line in (path / "records.jsonl").read_text().splitlines()]
    for record in records:
        if record["run"]["label"] == "A'" and record["status"] == "ok":
            record_slow(record, truth.again)
    (path / "records.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def ratio_true(truth: Truth, new: Mapping[str, str], base: Mapping[str, str],
               metric: str) -> float:
    """new / base as the script drew it, of two cells of one result, or of it and its `other`."""
    other = truth.other or truth
    if metric == "segments_per_message":
        return segments_of(other, new) / segments_of(truth, base)
    took = product_of(other.factors, new) / product_of(truth.factors, base)
    return 1 / took if metric == "messages_per_second" else took


def segments_of(truth: Truth, words: Mapping[str, str]) -> int:
    """Segments of a message of a cell."""
    return next((count for wanted, count in truth.segments.items() if fits(wanted, words)),
                SEGMENTS)
