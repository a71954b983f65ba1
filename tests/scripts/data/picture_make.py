# SPDX-License-Identifier: MIT
"""Invents results that are hard to draw: changes of every verdict, ratios of 1000, cells without a
figure."""

from __future__ import annotations

import random
from typing import Any

from result_make import Recipe, ends_of, message_bytes, recipe_sizes, thread_of

OUTLIER_ROUND = 3
LONG = "uring-sendmsg-with-a-name-that-has-no-room-anywhere"


def stream_of(words: dict[str, str], seconds: float, chance: random.Random) -> dict[str, Any]:
    """A stream whose messages take so long each."""
    size, count = message_bytes(words["message"]), max(int(0.5 / seconds), 1)
    elapsed = int(seconds * count * 1e9)
    client = thread_of(words, 0, elapsed, {"send": count}, elapsed // 2, messages_sent=count,
                       bytes_sent=size * count)
    server = thread_of(words, 1, elapsed, {"recv": count}, elapsed // 2, messages_received=count,
                       bytes_received=size * count)
    return ends_of(words, client, server)


def recipe_verdicts(rounds: int = 7, noise: float = 0.004) -> Recipe:
    """Six strategies and five sizes: 1000 times as fast and as slow, nothing at all, a little, a
    failed one."""
    factors = {"nodelay": 1.0, "cork": 1000.0, "more": 0.001, "writev": 1.0, "coalesce": 1.003,
               LONG: 0.8}

    def record(words: dict[str, str], number: int, chance: random.Random) -> dict[str, Any]:
        factor = factors[words["write"]]
        if words["write"] == "writev" and words["message"] == "4K":
            return {"schema": 1, "status": "failed", "reason": "server: connection reset",
                    "words": words}
        if words["write"] == "cork" and words["message"] != "64":
            factor = 1 + (factor - 1) / message_bytes(words["message"])
        seconds = 1e-6 / factor * chance.gauss(1, noise) * (1 + 0.01 * number)
        return stream_of(words, seconds *
                         (30 if number == OUTLIER_ROUND and chance.random() < 0.1 else 1), chance)

    fixed = {"workload": "stream", "place": "apart"}
    name = " ".join(f"{key}={value}" for key, value in fixed.items())
    return Recipe("verdicts", fixed,
                  {"message": ["64", "256", "1K", "4K", "16K"], "write": list(factors)},
                  rounds, "write=nodelay", record, unsupported={
                      f"{name} message=64 write={LONG}": "needs io_uring"})


def recipe_same(rounds: int = 7) -> Recipe:
    """Three strategies and three sizes that all take as long."""
    def record(words: dict[str, str], number: int, chance: random.Random) -> dict[str, Any]:
        return stream_of(words, 1e-6 * chance.gauss(1, 0.01), chance)
    return Recipe("same", {"workload": "stream", "place": "apart"},
                  {"message": ["64", "1K", "16K"], "write": ["nodelay", "cork", "writev"]}, rounds,
                  "write=nodelay", record)


def recipes_drawn() -> list[Recipe]:
    """What a reader should look at: few and many series and sizes, and what is hard."""
    return [*(recipe_sizes(series, sizes) for series in (2, 6, 14) for sizes in (1, 15)),
            recipe_verdicts(), recipe_verdicts(3), recipe_same()]
