# SPDX-License-Identifier: MIT
"""plan.json as data: its cells, its sessions, and which of their runs are left.

plan.json has, beside what docs/record.md names, `sessions`: one entry per start of the runner that
began rounds of its own, `{"session", "boot", "started_unix_ns", "rounds": [first, last]}`. Going on
with an unfinished session, on the same boot and build, is still that session, and so is what until=
adds to it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from suite.measure.plan import Cell, Plan
from suite.measure.schedule import Run, schedule_make
from suite.result.shape import SCHEMA

Key = tuple[str, int, str, str]  # session, round, cell, label


@dataclass(frozen=True)
class Identity:
    """What must be the same for runs to be of one session: the build and the boot."""

    uncork: str
    revision: str
    build: str
    boot: str
    builds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # client.builds_read()
    targets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # Targets.found()
    boots: Mapping[str, str] = field(default_factory=dict)  # Targets.boots()


def key_of(record: dict[str, Any]) -> Key:
    """What makes a record one of its kind."""
    run = record["run"]
    return run.get("session", ""), run["round"], run["cell"], run["label"]


def cell_entry(cell: Cell) -> dict[str, Any]:
    """A cell as plan.json has it."""
    entry = {"cell": cell.name, "words": cell.words, "given": cell.given,
             "baseline": cell.baseline, "planned_s": cell.planned_s}
    return entry if cell.unsupported is None else entry | {"unsupported": cell.unsupported}


def plan_document(plan: Plan, identity: Identity) -> dict[str, Any]:
    """plan.json without its sessions."""
    return {
        "schema": SCHEMA, "name": plan.scenario.name, "uncork": identity.uncork,
        "revision": identity.revision, "build": identity.build, "boot": identity.boot,
        "seed": plan.seed, "rounds": plan.rounds, "baseline": plan.baseline, "timer": plan.timer,
        "axes": list(plan.axes), "cells": [cell_entry(cell) for cell in plan.cells],
    } | elsewhere(identity) | pace_words(plan)


def elsewhere(identity: Identity) -> dict[str, Any]:
    """What other builds and targets than this one are, where words name some."""
    found = {"builds": dict(identity.builds), "targets": dict(identity.targets)}
    return {key: value for key, value in found.items() if value}


def pace_words(plan: Plan) -> dict[str, Any]:
    """What until=, --quick and hosts= said, where they were given."""
    found = {"until": plan.until, "quick": plan.quick, "hosts": plan.hosts}
    return {key: value for key, value in found.items() if value is not None}


def plan_same(document: dict[str, Any], plan: Plan) -> bool:
    """Whether a stored plan is this one; a seed counts only if this one was given a seed."""
    mine = {"name": plan.scenario.name, "rounds": plan.rounds, "baseline": plan.baseline,
            "timer": plan.timer, "axes": list(plan.axes), "until": plan.until, "quick": plan.quick, "hosts": plan.hosts}
    if plan.seed is not None:
        mine["seed"] = plan.seed
    cells = [cell_entry(cell) for cell in plan.cells]
    return (all(document.get(key) == value for key, value in mine.items())
            and cells_bare(document["cells"]) == cells_bare(cells))


def cells_bare(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cells without what the machine had to say about them: another boot may say otherwise."""
    return [{key: value for key, value in entry.items() if key != "unsupported"}
            for entry in entries]


def document_cells(document: dict[str, Any]) -> list[Cell]:
    """The cells of plan.json."""
    return [Cell(entry["cell"], entry["words"], entry["given"], entry["baseline"],
                 entry.get("unsupported"), entry.get("planned_s"))
            for entry in document["cells"]]


def session_rounds(session: dict[str, Any]) -> range:
    """The numbers of a session's counted rounds."""
    first, last = session["rounds"]
    return range(first, last + 1)


def session_schedule(document: dict[str, Any], session: dict[str, Any]) -> Iterator[Run]:
    """All runs of one session in order."""
    runnable = [cell for cell in document_cells(document) if cell.unsupported is None]
    return schedule_make(runnable, session_rounds(session), document["seed"], together="hosts" in document)


def session_begin(document: dict[str, Any], identity: Identity) -> dict[str, Any]:
    """A new session after those of the document: as many rounds again, numbers going on."""
    last = max((entry["rounds"][1] for entry in document["sessions"]), default=0)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    boots = {"boots": dict(identity.boots)} if identity.boots else {}
    return {"session": f"{stamp}-{secrets.token_hex(3)}", "boot": identity.boot, **boots,
            "started_unix_ns": time.time_ns(), "rounds": [last + 1, last + document["rounds"]]}


def boot_changed(session: dict[str, Any], identity: Identity) -> str | None:
    """Which machine was booted since a session began, and its two boots; None: none was."""
    was, now = {"": session["boot"]} | session.get("boots", {}), {"": identity.boot} | dict(identity.boots)
    for machine, boot in now.items():
        if was.get(machine, boot) != boot:
            return f"another boot{f' of {machine}' if machine else ''} ({was[machine]}; this one is {boot})"
    return None


def session_left(document: dict[str, Any], session: dict[str, Any], done: set[Key]) -> list[Run]:
    """The runs of a session that have no record yet, in order."""
    name = session["session"]
    return [run for run in session_schedule(document, session)
            if (name, run.round, run.cell.name, run.label) not in done]
