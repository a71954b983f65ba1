# SPDX-License-Identifier: MIT
"""plan.json: the planned cells, the programs that ran them, and the sessions.

A session is what one start of the runner adds to a result: its own rounds, on one boot. It stays
the same session when it is continued on the same boot and build, and when until= adds rounds.
"""

from __future__ import annotations

import os
import shlex
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from suite.base import grouped
from suite.base.runner_words import RUN_WORDS, RUNNER_WORDS, THIS, RunWords, build_of
from suite.base.words import words_split
from suite.result.checks import SCHEMA, Damaged

# the axes that say how an end writes, and the value with which others are compared
WRITE_WORDS, WRITE_USUAL = ("write", "reply_write"), "nodelay"
UNTIL_TIMES = 10  # until= gives a session at most so many times its rounds

WordChange = Mapping[str, str | None]  # the value `was` and `is` under --quick; is None: no word


@dataclass(frozen=True)
class PlannedCell:
    """One cell. words: all that it uses. given: those of the plan. Both in canonical spelling.
    unsupported: why it cannot run. planned_s: warm-up and measured time; None for fixed work."""

    name: str
    words: Mapping[str, str]
    given: Mapping[str, str]
    baseline: bool = False
    unsupported: str | None = None
    planned_s: float | None = None

    @property
    def all_words(self) -> dict[str, str]:
        return {**self.words, **self.given}


class Build(NamedTuple):
    """One build of the programs. folder: its own, empty for the client's; revision: of its sources;
    digest: of its binaries; uncork: its version."""

    folder: str = ""
    revision: str = ""
    digest: str = ""
    uncork: str = ""


@dataclass(frozen=True)
class Programs:
    """The programs that measured. builds: by the value of build=; the client's own is THIS.
    homepage: the public address that its sources were cloned from; None where there is none.
    targets: the facts of other targets, by the value of target=. subjects: the digests of the
    programs of subjects on this machine, by path."""

    builds: Mapping[str, Build] = field(default_factory=dict)
    targets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    homepage: str | None = None
    subjects: Mapping[str, str] = field(default_factory=dict)

    @property
    def own(self) -> Build:
        return self.builds.get(THIS, Build())

    @property
    def digests(self) -> dict[str, str]:
        """The digests of all builds and subjects: a result has figures of one set only."""
        return {value: build.digest for value, build in self.builds.items()} | dict(self.subjects)


Boots = Mapping[str, str]  # the boot of each machine: "" is this one, the others have their names


def boot_changed(before: Boots, now: Boots) -> str:
    """Text about the first machine that was booted since; empty where all boots are the same."""
    return next((f"another boot{' of ' * bool(machine)}{machine} "
                 f"({before[machine]}; this one is {boot})" for machine, boot in now.items()
                 if before.get(machine, boot) != boot), "")


@dataclass(frozen=True)
class Session:
    """One start of the runner on these boots; it added the rounds first to last."""

    name: str
    boots: Boots
    started_unix_ns: int
    first: int
    last: int

    @property
    def rounds(self) -> range:
        return range(self.first, self.last + 1)


def baseline_default(cells: Sequence[PlannedCell], axes: Sequence[str]) -> str:
    """The baseline of a plan that names none, as words; empty where nothing varies. Its axis is the
    last one, if only the runner acts on that (build, target), else the last that says how an end
    writes, else the last one. Its value is `nodelay`, else the first, among cells that can run."""
    axis = next((axis for axis in reversed(axes) if axis in WRITE_WORDS), "")
    axis = axes[-1] if axes and (axes[-1] in RUNNER_WORDS or not axis) else axis
    runnable = [cell for cell in cells if cell.unsupported is None] or cells
    values = [cell.given[axis] for cell in runnable if axis in cell.given]
    usual = axis in WRITE_WORDS and WRITE_USUAL in values
    return f"{axis}={WRITE_USUAL if usual else values[0]}" if values else ""


@dataclass(frozen=True)
class Plan(RunWords):
    """A planned or measured matrix. axes: the words that vary, in order. quick: what --quick
    changed, by word. programs: empty texts until they are known."""

    name: str
    axes: tuple[str, ...]
    cells: tuple[PlannedCell, ...]
    quick: Mapping[str, WordChange] | None = None
    programs: Programs = Programs()
    sessions: tuple[Session, ...] = ()

    @property
    def runnable(self) -> tuple[PlannedCell, ...]:
        return tuple(cell for cell in self.cells if cell.unsupported is None)

    @cached_property
    def baseline_axes(self) -> dict[str, str]:
        """The axes, with values, that make a cell a baseline: those of the word baseline, else
        those that all baseline cells share. Of a list (`write=nodelay,cork`) the first value
        counts."""
        words = words_split(self.baseline.split(), "plan.json: baseline: ")
        chosen = {key: value.split(",")[0] for key, value in words.items() if key in self.axes}
        if chosen:
            return chosen
        marked = [cell.all_words for cell in self.cells if cell.baseline]
        return {axis: marked[0].get(axis, "") for axis in self.axes
                if marked and len({words.get(axis, "") for words in marked}) == 1}

    @property
    def compared(self) -> list[tuple[PlannedCell, PlannedCell]]:
        """(cell, its baseline) for every cell that is no baseline, where both can run."""
        base = self.baseline_axes
        at = {tuple(cell.all_words.get(axis, "") for axis in self.axes): cell
              for cell in reversed(self.runnable)}
        pairs = ((cell, at.get(tuple(
            base.get(axis, cell.all_words.get(axis, "")) for axis in self.axes)))
            for cell in self.runnable)
        return [(cell, other) for cell, other in pairs if base and other and other is not cell]

    @property
    def session(self) -> Session:
        return self.sessions[-1]

    @property
    def rounds_max(self) -> int:
        return self.rounds if self.until is None else self.rounds * UNTIL_TIMES

    def request(self) -> dict[str, str]:
        """The words that ask for this plan, by key: all values of cells, then the words of the run.
        They have nothing that machine, programs and sessions add."""
        values = grouped(pair for cell in self.cells for pair in cell.given.items())
        words = {"scenario": self.name,
                 **{key: ",".join(dict.fromkeys(each)) for key, each in values.items()},
                 **self.run_words, **({} if self.quick is None else {"quick": "yes"})}
        return {key: f"{key}={shlex.quote(str(value))}" for key, value in words.items()}

    def difference(self, other: Plan) -> str:
        """What the two request differently: `there write=cork, here write=cork,more`; empty if both
        request the same runs. The seed counts only if both have one."""
        there, here = self.request(), other.request()
        keys = [key for key in {**there, **here} if there.get(key) != here.get(key)
                and not (key == "seed" and None in (self.seed, other.seed))]
        if keys != ["baseline"] and "baseline" in keys:
            keys.remove("baseline")  # it follows from the others
        if keys:
            return ", ".join(f"{where} " + " ".join(one.get(key, f"no {key}") for key in keys)
                             for where, one in (("there", there), ("here", here)))
        mine, others = ([replace(cell, unsupported=None) for cell in plan.cells]
                        for plan in (self, other))
        return "" if mine == others else "its cells, or their order"

    def with_session(self, boots: Boots) -> Plan:
        """The plan with a new session, whose rounds continue the numbers of the last one."""
        last = max((session.last for session in self.sessions), default=0)
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(3).hex()}"
        session = Session(name, boots, time.time_ns(), last + 1, last + self.rounds)
        return replace(self, sessions=(*self.sessions, session))

    def with_rounds(self, rounds: int) -> Plan:
        """The plan with so many more rounds in its last session."""
        return replace(self, sessions=(
            *self.sessions[:-1], replace(self.session, last=self.session.last + rounds)))


def folders_of(plan: Plan) -> dict[str, str]:
    return {value: build.folder for value, build in plan.programs.builds.items()}


def plan_from(document: Mapping[str, Any]) -> Plan:
    """The plan in a document with PLAN_SHAPE; Damaged where a cell is there twice."""
    cells = tuple(PlannedCell(entry["cell"], entry["words"], entry["given"], entry["baseline"],
                              entry.get("unsupported"), entry.get("planned_s"))
                              for entry in document["cells"])
    twice = [name for name, count in Counter(cell.name for cell in cells).items() if count > 1]
    if twice:
        raise Damaged(f"the cell {twice[0]} is there twice")
    builds = {value: Build(*(entry.get(key, "") for key in Build._fields))
              for value, entry in document.get("builds", {}).items()}
    own = Build("", document["revision"], document["build"], document["uncork"])
    programs = Programs({THIS: own, **builds}, document.get("targets", {}),
                        document.get("homepage"), document.get("subjects", {}))
    sessions = tuple(Session(entry["session"], {"": entry["boot"], **entry.get("boots", {})},
                             entry["started_unix_ns"], *entry["rounds"])
                     for entry in document["sessions"])
    run = {key: document[key] for key in RUN_WORDS if document.get(key) is not None}
    return Plan(document["name"], tuple(document["axes"]), cells, document.get("quick"), programs,
                sessions, **run)


def plan_document(plan: Plan) -> dict[str, Any]:
    """plan.json: docs/record.md, "Files of a result". The plan has a session."""
    programs, own = plan.programs, plan.programs.own
    return {
        "schema": SCHEMA, "name": plan.name, "uncork": own.uncork, "revision": own.revision,
        "build": own.digest, "boot": plan.sessions[0].boots[""],
        **known(**{key: getattr(plan, key) for key in RUN_WORDS}),
        "axes": list(plan.axes),
        "cells": [{"cell": cell.name, "words": cell.words, "given": cell.given,
                   "baseline": cell.baseline, "planned_s": cell.planned_s,
                   **known(unsupported=cell.unsupported)} for cell in plan.cells],
        **known(builds={value: build._asdict() for value, build in programs.builds.items()
                        if value != THIS} or None,
                targets=programs.targets or None, homepage=programs.homepage,
                subjects=programs.subjects or None, quick=plan.quick),
        "sessions": [{"session": session.name, "boot": session.boots[""],
                      **known(boots={name: boot for name, boot in session.boots.items() if name}
                              or None),
                      "started_unix_ns": session.started_unix_ns,
                      "rounds": [session.first, session.last]} for session in plan.sessions],
    }


def known(**items: Any) -> dict[str, Any]:
    """The items without those that are None."""
    return {key: value for key, value in items.items() if value is not None}


def builds_text(plan: Plan) -> str:
    """The builds of a result for a heading: value, revision, digest; empty without build=."""
    used = {build_of(cell.words) for cell in plan.cells}
    return "; ".join(f"{value}: revision {build.revision}, {build.digest}"
                     for value, build in plan.programs.builds.items()
                     if len(plan.programs.builds) > 1 and (value in used or value != THIS))


def quick_text(changes: Mapping[str, WordChange]) -> str:
    """What --quick changed: `a first look: rounds=10 in place of 20, without until=1%`."""
    texts = [f"{key}={change['is']} in place of {change['was']}" if change["is"]
            else f"without {key}={change['was']}"
            for key, change in changes.items()]
    return f"a first look: {', '.join(texts) or 'the plan is that short by itself'}"
