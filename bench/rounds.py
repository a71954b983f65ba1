# SPDX-License-Identifier: MIT
"""The rounds: in each, every run of every contest once, in a fresh random order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench import ours
from bench.contenders import CONTENDERS
from bench.contenders.contender import CONGESTION, Broken, Job, ports_free
from bench.contests import Contest
from suite.base.client import Client

OURS = "uncork"
FLOOR = "floor"
FLOOR_AGAIN = "floor again"  # the A/A pair


@dataclass(frozen=True)
class Entry:
    """What runs once in every round."""

    contest: str
    place: str
    who: str


@dataclass(frozen=True)
class Sample:
    """What one run gave: figures by metric to six digits, or why there are none."""

    round: int
    position: int
    contest: str
    place: str
    who: str
    figures: Mapping[str, float]
    failed: str | None = None

    def document(self) -> dict[str, Any]:
        """As it is kept; what is not there is left out."""
        return {key: value for key, value in asdict(self).items() if value not in (None, {})}


@dataclass(frozen=True)
class Setting:
    """What holds for the whole run."""

    client: Client
    seconds: float
    warmup: float
    cpus: Mapping[str, tuple[int, int] | str]  # by place; a text says why there are none
    congestion: str  # what a connection gets that asks for none


def entries_make(contests: Sequence[Contest]) -> list[Entry]:
    """uncork, every contender that is there, and the floor a second time."""
    entries = []
    for contest in contests:
        there = [against.contender for against in contest.against
                 if against.words or CONTENDERS[against.contender].missing() is None]
        again = [FLOOR_AGAIN] if FLOOR in there else []
        entries += [Entry(contest.name, place, who) for place in contest.places
                    for who in (OURS, *there, *again)]
    return entries


def round_order(entries: Sequence[Entry], seed: int, number: int) -> list[Entry]:
    """One round in random order: a draw for each entry, sorted, as in suite/measure/schedule.py."""
    generator = random.Random(f"{seed}:{number}")
    draws = sorted((generator.random(), index) for index in range(len(entries)))
    return [entries[index] for _, index in draws]


def due(contest: Contest, number: int) -> bool:
    """Whether a contest runs in a round; all do in the first."""
    return (number - 1) % contest.every == 0


def seconds_of(contest: Contest, seconds: float) -> float:
    """How long each run of a contest measures: the same for all, so the longest that one of the
    contenders makes of it."""
    return max([seconds, *(CONTENDERS[one.contender].measures(seconds) for one in contest.against
                           if not one.words)])


def figures_take(setting: Setting, contest: Contest, entry: Entry) -> dict[str, float]:
    """One run; Broken where it gives no figures."""
    cpus = setting.cpus[entry.place]
    if isinstance(cpus, str):
        raise Broken(cpus)
    load = contest.loads.get(entry.who, contest.load)
    job = Job(load, contest.metric, *cpus, seconds_of(contest, setting.seconds),
              setting.warmup if contest.warms else 0.0, ports_free())
    if entry.who == OURS or entry.who in contest.loads:
        return ours.run(setting.client, job, entry.place)
    contender = CONTENDERS[FLOOR if entry.who == FLOOR_AGAIN else entry.who]
    if not contender.pins and setting.congestion != CONGESTION:
        raise Broken(f"cannot choose {CONGESTION}, and would run with {setting.congestion}")
    return {contest.metric: contender.run(job)}


def rounds_run(setting: Setting, contests: Mapping[str, Contest], entries: Sequence[Entry],
               rounds: int, seed: int, begins: Callable[[int], None]) -> Iterator[Sample]:
    """Every sample as it comes; `begins` is told each round's number."""
    for number in range(1, rounds + 1):
        begins(number)
        these = [entry for entry in entries if due(contests[entry.contest], number)]
        for position, entry in enumerate(round_order(these, seed, number)):
            place = (number, position, entry.contest, entry.place, entry.who)
            try:
                figures = figures_take(setting, contests[entry.contest], entry)
                yield Sample(*place, {name: float(f"{value:.6g}")
                                      for name, value in figures.items()})
            except Broken as broken:
                yield Sample(*place, {}, str(broken))
