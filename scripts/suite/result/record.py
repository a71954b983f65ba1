# SPDX-License-Identifier: MIT
"""A record: what one run leaves (docs/record.md). It is checked before any formula uses it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from suite.base.units import counted_text

STATUSES = ("ok", "unsupported", "failed")
WARMUP_ROUND = 0  # runs and is recorded, but is not counted
ENDS = ("client", "server", "proxy")  # that a record may have
CELLS_NAMED = 3  # in a message about failed runs
JsonObject = dict[str, Any]  # a JSON object
RunKey = tuple[str, int, str, str]  # session, round, cell, label
Outcomes = dict[RunKey, tuple[str, str]]  # of runs: status and reason


def key_of(record: Mapping[str, Any]) -> RunKey:
    """The key of the run that left a record. It is unique in a result."""
    run = record["run"]
    return run.get("session", ""), run["round"], run["cell"], run["label"]


def failures_text(runs: Outcomes) -> str:
    """How many runs of which cells failed, with the first reason; empty if none did. By the rule of
    docs/stability.md a command that measures then exits 1."""
    ran = {key: outcome for key, outcome in runs.items() if outcome[0] != "unsupported"}
    failed = {key: reason for key, (status, reason) in ran.items() if status == "failed"}
    if not failed:
        return ""
    cells, counts = Counter(key[2] for key in ran), Counter(key[2] for key in failed)
    named = [f"{count} of {cells[cell]} of {cell or 'the only cell'}"
             for cell, count in counts.most_common(CELLS_NAMED)]
    if others := len(counts) - len(named):
        named.append(f"more of {counted_text(others, 'other cell')}")
    return (f"{len(failed)} of {counted_text(len(ran), 'run')} failed: {', '.join(named)}; the "
            f"first: {next(iter(failed.values())) or 'no reason given'}")


class Record:
    """What one run left. document has RECORD_SHAPE; what it lacks is None or empty here. label: A,
    or A' for the second run of a baseline. round: 0 is the warm-up. hyperfine: its times of whole
    processes. subject: the server that was measured in place of uncork's. load: the client that was
    timed in place of uncork's."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document, run = document, document.get("run", {})
        self.status: str = document.get("status", "")
        self.reason: str = document.get("reason", "")
        self.words: Mapping[str, str] = document.get("words", {})
        self.cell: str = run.get("cell", "")
        self.label: str = run.get("label", "")
        self.round: int = run.get("round", WARMUP_ROUND)
        self.session: str = run.get("session", "")
        self.hyperfine: Mapping[str, Any] | None = document.get("hyperfine")
        self.subject: Mapping[str, Any] | None = document.get("subject")
        self.load: Mapping[str, Any] | None = document.get("load")

    def end(self, name: str) -> Mapping[str, Any] | None:
        """The figures of one of ENDS; None where it took no part."""
        return self.document.get(name)

    def threads(self) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
        """(name of an end, the end, one of its data threads)."""
        for name in ENDS:
            end = self.end(name) or {}
            yield from ((name, end, thread) for thread in end.get("threads", ()))
