# SPDX-License-Identifier: MIT
"""The order of runs: every cell once in every round, each round in a fresh random order.

On a drifting machine the order decides more than the statistical test does (docs/methodology.md).
It is a pure function of cells, rounds and seed: a resumed matrix continues where it stopped.
"""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from suite.base.runner_words import ARRIVAL_SEED, BUILD, DRAWN, boot_of, serving_ends
from suite.places.batch import cells_by_target
from suite.result.plan import Plan, PlannedCell, Session
from suite.result.record import WARMUP_ROUND
from suite.scenario.scenario import LABEL, LABEL_REPEAT

SEEDS = 2**32


@dataclass(frozen=True)
class Run:
    """One run: a cell at its place in the random order of a round; position counts from 0."""

    cell: PlannedCell
    label: str
    round: int
    position: int


def cell_in_round(cell: PlannedCell, seed: int, number: int) -> PlannedCell:
    """The cell with the arrival sequence of this round, which all cells of the round share: a ratio
    within the round compares cells and not two sequences."""
    if cell.words.get(ARRIVAL_SEED) != DRAWN:
        return cell
    part = random.Random(f"{seed}:{number}:{ARRIVAL_SEED}").random()
    drawn = {ARRIVAL_SEED: str(1 + int(part * SEEDS))}
    return replace(cell, words={**cell.words, **drawn}, given={**cell.given, **drawn})


def round_order(cells: Sequence[PlannedCell], seed: int, number: int) -> list[Run]:
    """One round in random order. Each run draws one number of `random.Random(f"{seed}:{number}")`,
    in the order of the plan with the second runs of the baseline last. The draws are sorted, those
    of each boot apart: cells that need no boot come first, then the images, in the order of the
    plan in odd rounds and reversed in even ones. Python promises this sequence (Mersenne Twister
    seeded with text) for all versions, and does not promise shuffle()."""
    cells = [cell_in_round(cell, seed, number) for cell in cells]
    entries = [*((cell, LABEL) for cell in cells),
               *((cell, LABEL_REPEAT) for cell in cells if cell.baseline)]
    generator = random.Random(f"{seed}:{number}")
    boots = [boot for boot in dict.fromkeys(boot_of(cell.words) for cell in cells) if boot]
    turns = ["", *(boots if number % 2 else reversed(boots))]
    entries.sort(key=lambda entry: (turns.index(boot_of(entry[0].words)), generator.random()))
    return [Run(*entry, number, position) for position, entry in enumerate(entries)]


def concurrent_round(cells: Sequence[PlannedCell], seed: int, number: int) -> list[Run]:
    """One round of targets that run at the same time, by position. Each target has the order that
    it would have alone. So targets with the same cells have the same order."""
    rounds = [round_order([cells[place] for place in places], seed, number)
              for places in cells_by_target(cells).values()]
    return sorted((run for runs in rounds for run in runs), key=lambda run: run.position)


def batches_make(runs: Sequence[Run], concurrent: bool) -> list[list[Run]]:
    """The runs of each client: all that share a boot in a round, or one run that needs no boot.
    concurrent: those that all targets run at the same time, all of a round that share a build."""
    def key(numbered: tuple[int, Run]) -> tuple[object, ...]:
        number, run = numbered
        words = run.cell.words
        if concurrent:
            return run.round, words.get(BUILD), bool(serving_ends(words))
        return run.round, boot_of(words) or number
    return [[run for _, run in batch] for _, batch in itertools.groupby(enumerate(runs), key)]


def session_schedule(plan: Plan, session: Session) -> Iterator[Run]:
    """All runs of a session in order: the warm-up round, then the counted rounds."""
    assert plan.seed is not None
    order = round_order if plan.hosts is None else concurrent_round
    for number in (WARMUP_ROUND, *session.rounds):
        yield from order(plan.runnable, plan.seed, number)


def seed_draw() -> int:
    return random.SystemRandom().randrange(2**32)
