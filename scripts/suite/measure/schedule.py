# SPDX-License-Identifier: MIT
"""In which order cells run: every cell once in every round, each round in a fresh random order.

With a drifting machine the order decides more than the test does (docs/methodology.md). It is a
pure function of cells, rounds and seed, so that a resumed matrix goes on where it was.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from suite.base.runner_words import ARRIVAL_SEED, BUILD, DRAWN, boot_of, target_of
from suite.places.ssh.server import serving_ends
from suite.result.plan import Plan, PlannedCell, Session
from suite.result.record import WARMUP_ROUND
from suite.scenario.scenario import LABEL, LABEL_AGAIN

SEEDS = 2**32


@dataclass(frozen=True)
class Run:
    """One run: a cell at its place in the random order of a round; position counts from 0."""

    cell: PlannedCell
    label: str
    round: int
    position: int


def cell_in_round(cell: PlannedCell, seed: int, number: int) -> PlannedCell:
    """The cell with the arrivals of this round, which depend on the seed of the result only.

    All cells of a round share them, so that a ratio within the round is not one of two sequences.
    So does the second run of a baseline: A and A' must differ by as much as any two cells do.
    """
    if cell.words.get(ARRIVAL_SEED) != DRAWN:
        return cell
    part = random.Random(f"{seed}:{number}:{ARRIVAL_SEED}").random()
    drawn = {ARRIVAL_SEED: str(1 + int(part * SEEDS))}
    return replace(cell, words=cell.words | drawn, given=cell.given | drawn)


def round_order(cells: Sequence[PlannedCell], seed: int, number: int) -> list[Run]:
    """One round in random order.

    Each run draws one `random.Random(f"{seed}:{number}").random()`, in the order of the plan with
    the second runs of the baseline last, and the draws are sorted, those of each boot by
    themselves. Python promises that sequence (Mersenne Twister seeded with text) for all versions,
    and promises no such thing for shuffle().
    """
    cells = [cell_in_round(cell, seed, number) for cell in cells]
    again = [(cell, LABEL_AGAIN) for cell in cells if cell.baseline]
    entries = [(cell, LABEL) for cell in cells] + again
    generator = random.Random(f"{seed}:{number}")
    turns = boot_turns(cells, number)
    draws = [(turns[boot_of(cell.words)], generator.random(), index)
             for index, (cell, _) in enumerate(entries)]
    return [Run(*entries[index], number, position)
            for position, (*_, index) in enumerate(sorted(draws))]


def boot_turns(cells: Sequence[PlannedCell], number: int) -> dict[str, int]:
    """Which boot of a round comes when: first the cells that need none, then the images, A B and in
    the next round B A."""
    boots = [boot for boot in dict.fromkeys(boot_of(cell.words) for cell in cells) if boot]
    if number % 2 == 0:
        boots.reverse()
    return {boot: turn for turn, boot in enumerate(["", *boots])}


def batches_make(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs as they are started together: those of a boot in a round, any other by itself."""
    batches: list[list[Run]] = []
    for run in runs:
        boot = boot_of(run.cell.words)
        last = batches[-1][-1] if batches else None
        if boot and last and (last.round, boot_of(last.cell.words)) == (run.round, boot):
            batches[-1].append(run)
        else:
            batches.append([run])
    return batches


def round_together(cells: Sequence[PlannedCell], seed: int, number: int) -> list[Run]:
    """One round of targets that run at the same time, position by position: each has the order that
    it would have alone, so that those which can run the same cells have the same one."""
    by_target: dict[str, list[PlannedCell]] = {}
    for cell in cells:
        by_target.setdefault(target_of(cell.words), []).append(cell)
    rounds = [round_order(mine, seed, number) for mine in by_target.values()]
    return sorted((run for runs in rounds for run in runs), key=lambda run: run.position)


def batches_together(runs: Sequence[Run]) -> list[list[Run]]:
    """The same as they are started together: all of a round that have the same programs, and ends
    to speak to or none."""
    def kind(run: Run) -> tuple[Any, ...]:
        return run.round, run.cell.words.get(BUILD), bool(serving_ends(run.cell.words))
    return [list(batch) for _, batch in itertools.groupby(runs, kind)]


def schedule_make(cells: Sequence[PlannedCell], rounds: Sequence[int], seed: int,
                  together: bool = False) -> Iterator[Run]:
    """The warm-up round and then the numbered rounds; cells are those that can run. together: all
    targets at a time."""
    order = round_together if together else round_order
    for number in (WARMUP_ROUND, *rounds):
        yield from order(cells, seed, number)


def session_schedule(plan: Plan, session: Session) -> Iterator[Run]:
    """All runs of a session in order."""
    assert plan.seed is not None
    return schedule_make(plan.runnable, session.rounds, plan.seed, together=plan.hosts is not None)


def runs_per_round(cells: Sequence[PlannedCell]) -> int:
    """How many runs a round has."""
    return len(cells) + sum(cell.baseline for cell in cells)


def seed_draw() -> int:
    """A seed that nobody chose: 32 bits from the system."""
    return random.SystemRandom().randrange(2**32)
