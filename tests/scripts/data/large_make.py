# SPDX-License-Identifier: MIT
"""Makes a result of many records, each as large as real ones are: all words spelled out, all
counters of TCP_INFO, and a histogram with as many bins as a second of requests fills."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from result_make import STRATEGIES, Recipe, request_record, result_write

MESSAGES = [f"{fragments}x{size}" for fragments in (1, 2, 4, 8, 15)
            for size in (2, 8, 32, 128, 512, 2048, 8192)]
PLACES = ["together", "apart"]
BASELINE = "write=nodelay"
WORDS = {"transport": "tcp", "security": "plain", "reply_write": "nodelay", "nodelay": "strategy",
         "window": "1",
         "read": "recv", "chunk": "64K", "touch": "none", "source": "hot", "verify": "off",
         "connections": "1",
         "threads": "1", "depth": "1", "rate": "closed", "sndbuf": "default", "rcvbuf": "default",
         "quickack": "default", "busy_poll": "default", "notsent_lowat": "default",
         "congestion": "default",
         "engine": "auto", "handoff": "inline", "sched": "other", "spin": "0s", "perf": "off",
         "capture": "off",
         "lab": "off", "server": "own"}
COUNTERS = ("segs_out", "data_segs_in", "bytes_retrans", "delivered", "rwnd_limited_ns",
            "sndbuf_limited_ns",
            "rtt_ns", "peer_window_bytes")
BINS = 48


def bins_spread(histogram: dict[str, Any]) -> None:
    """As many values in more bins."""
    lowest, count = histogram["minimum"], histogram["count"]
    width = max(lowest // 64, 1)
    shares = [count // BINS + (place < count % BINS) for place in range(BINS)]
    histogram["bins"] = [[lowest + place * width, width, share]
                         for place, share in enumerate(shares) if share]
    histogram["maximum"] = histogram["bins"][-1][0] + width - 1


def large_record(words: dict[str, str], number: int, chance: random.Random) -> dict[str, Any]:
    """A request/reply run as request_record() invents it, with everything that a real one has."""
    record = request_record(words, number, chance)
    record["words"] = WORDS | words
    for name in ("client", "server"):
        end = record[name]
        end |= {"security": "plain", "resident_before_bytes": 8409088, "resident_bytes": 8671232,
                "process": {"user_ns": 4752000, "system_ns": 85553000}}
        for thread in end["threads"]:
            thread["sched"] = "other"
            figures = thread["tcp_info"]
            figures |= {key: dict(figures["segs_in"]) for key in COUNTERS}
            for figure in figures.values():
                figure["each"] = [figure["sum"]]
            if "latency" in thread:
                bins_spread(thread["latency"])
    return record


def recipe_large(records: int) -> Recipe:
    """420 cells of two places, six strategies and 35 messages, in as many rounds as so many records
    take."""
    cells = len(MESSAGES) * len(PLACES) * len(STRATEGIES)
    per_round = cells + cells // len(STRATEGIES)  # the baseline runs twice
    return Recipe("large", {"workload": "request", "reply": "2"},
                  {"message": MESSAGES, "place": PLACES, "write": list(STRATEGIES)},
                  max(round(records / per_round) - 1, 1), BASELINE, large_record)


def large_write(records: int, folder: Path) -> Path:
    """Writes the result into folder/large and gives that path."""
    return result_write(recipe_large(records), folder)
