# SPDX-License-Identifier: MIT
"""Comparisons from results: two selectors in one, two results, or a baseline against all others.
Pure."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from suite import stats
from suite.analyse.comparison.differences import (
    builds_compare,
    cells_compare,
    differences_declare,
    machines_compare,
)
from suite.analyse.comparison.model import Change, Comparison, Difference, Mean, Row, Side, Unit
from suite.analyse.comparison.samples import (
    Sample,
    change_make,
    sample_take,
    samples_geomean,
    sessions_of,
)
from suite.analyse.comparison.sides import (
    Pair,
    Pairing,
    baseline_others,
    fixed_differences,
    pairing_make,
    words_compared,
)
from suite.analyse.frame import Cell, Matrix, baseline_words, rounds_common
from suite.analyse.machines import FUNCTIONAL_ONLY, machines_of
from suite.analyse.metrics import Metric
from suite.analyse.selection import cells_select
from suite.analyse.verdicts import Family, Verdict, baseline_family, baseline_ratio, family_make
from suite.base.errors import UsageError
from suite.base.words import words_text

Words = Mapping[str, str]

NO_TIMES = f"{FUNCTIONAL_ONLY}: under emulation times say nothing, and are not compared"


@dataclass(frozen=True)
class Compared:
    """One metric over all pairs: changes by the place of their pair."""

    changes: Mapping[int, Change]
    geomean: Mean | None
    tested: int
    hopeless: bool


def metric_compare(sides: tuple[Matrix, Matrix], pairs: Sequence[Pair], metric: Metric,
                   unit: Unit) -> Compared:
    """What may be said of one metric."""
    samples: dict[int, Sample] = {}
    for place, pair in enumerate(pairs):
        sample = sample_take(sides, (pair.base, pair.new), metric,
                             unit) if pair.base and pair.new else None
        if sample is not None:
            samples[place] = sample
    changes = {place: change_make(sample) for place, sample in samples.items()}
    family, keys = family_choose(sides, pairs, changes, metric)
    settled = {place: change_settle(change, family, keys[place])
               for place, change in changes.items()}
    return Compared(settled, samples_geomean(samples, len(pairs)), family.tested, family.hopeless)


def pairs_good(pairing: Pairing) -> list[tuple[Cell, Cell]]:
    """The pairs of which both sides have good runs."""
    return [(pair.base, pair.new) for pair in pairing.pairs
            if pair.base and pair.new and pair.base.runs_ok and pair.new.runs_ok]


def unit_of(sides: tuple[Matrix, Matrix], pairs: Iterable[tuple[Cell, Cell]]) -> Unit:
    """What one value is: where a single pair shares no rounds, no other is taken round by round
    either."""
    if sides[0] is not sides[1]:
        return Unit.SESSION
    return Unit.ROUND if all(map(rounds_common, pairs)) else Unit.BOOT


def metrics_allowed(pairs: Sequence[tuple[Cell, Cell]], metrics: Sequence[Metric]
                    ) -> tuple[tuple[Metric, ...], list[str]]:
    """The metrics that may be compared, and notes: only what is counted where no pair has times on
    both sides."""
    if not pairs or not all(base.emulated or new.emulated for base, new in pairs):
        return tuple(metrics), []
    counted = tuple(metric for metric in metrics if not metric.timed)
    if not counted:
        times = ", ".join(metric.name for metric in metrics)
        raise UsageError(f"{FUNCTIONAL_ONLY}: under emulation {times} says nothing; "
                         "ask for counts, columns=segments_per_message")
    return counted, [NO_TIMES] if len(counted) < len(metrics) else []


def pairing_notes(pairing: Pairing) -> list[str]:
    """How many rows have a cell on one side only."""
    alone = sum(pair.base is None or pair.new is None for pair in pairing.pairs)
    return [f"{alone} of {len(pairing.pairs)} rows have a cell on one side only"] if alone else []


def comparison_make(base: Side, new: Side, pairing: Pairing, metrics: Sequence[Metric],
                    differences: Sequence[Difference], notes: Sequence[str]) -> Comparison:
    """The comparison of two sides whose cells have been brought together."""
    sides, pairs = (base.matrix, new.matrix), pairs_good(pairing)
    metrics, said = metrics_allowed(pairs, metrics)
    unit = unit_of(sides, pairs)
    found = {metric.name: metric_compare(sides, pairing.pairs, metric, unit) for metric in metrics}
    rows = tuple(Row(pair.axes, pair.base, pair.new,
                     {name: one.changes[place] for name, one in found.items()
                      if place in one.changes})
                 for place, pair in enumerate(pairing.pairs))
    return Comparison(
        base, new, pairing.axes, metrics, rows, unit,
        {name: one.geomean for name, one in found.items()},
        {name: one.tested for name, one in found.items()},
        tuple(name for name, one in found.items() if one.hopeless),
        tuple(differences), (*said, *pairing_notes(pairing), *notes))


def compare_cells(matrix: Matrix, base: Words, new: Words, metrics: Sequence[Metric]) -> Comparison:
    """Two selectors within one result.

    UsageError: a selector has no cell, or the two differ in no word.
    """
    cells = cells_select(matrix, base), cells_select(matrix, new)
    compared = words_compared(base, new)
    if not compared:
        raise UsageError(f'"{words_text(base)}" and "{words_text(new)}" differ in no word: '
                         "give one word two values, write=nodelay write=cork")
    pairing = pairing_make(*cells, matrix.axes, compared)
    sessions = tuple(sessions_of(matrix))
    sides = [Side(words_text({key: words[key] for key in compared}), matrix, words, sessions)
             for words in (base, new)]
    machines = differences_declare(cells_compare((matrix, matrix), pairs_good(pairing)), compared)
    differences = (*builds_compare((matrix, words) for words in (base, new)), *machines,
                   *pairing.differences)
    return comparison_make(sides[0], sides[1], pairing, metrics, differences, matrix.result.notes)


def compare_baseline(matrix: Matrix, metrics: Sequence[Metric]) -> list[Comparison]:
    """The baseline of a result against each other value of its axis, in order; none without a
    baseline."""
    base = baseline_words(matrix)
    return [compare_cells(matrix, base, other, metrics)
            for other in baseline_others(matrix, base, {})]


def kernels_text(matrix: Matrix, cells: Sequence[Cell]) -> str:
    """The kernels under which cells ran."""
    ran = machines_of(matrix.result,
                      {cell.name: cell.target for cell in cells}) or matrix.result.machines.values()
    return ", ".join(dict.fromkeys(machine.fact("kernel") for machine in ran))


def result_names(selected: Sequence[tuple[Matrix, Sequence[Cell]]], words: tuple[Words, Words],
                 compared: Sequence[str]) -> list[str]:
    """How a reader calls two results: by what differs, the kernel, the revision, or else their
    folders."""
    sides = [matrix for matrix, _ in selected]
    choices = [[kernels_text(*one) for one in selected],
               [matrix.result.plan.programs.revision for matrix in sides]]
    choices += [[matrix.result.name for matrix in sides],
                [str(matrix.result.folder) for matrix in sides]]
    names = next((names for names in choices if all(names) and names[0] != names[1]), choices[-1])
    return [f"{name} {words_text({key: side[key] for key in compared})}".rstrip()
            for name, side in zip(names, words, strict=True)]


def sessions_check(base: Matrix, new: Matrix) -> None:
    """UsageError for results that have a session in common: they are one, or copies of one."""
    both = sessions_of(base).keys() & sessions_of(new).keys()
    if both:
        raise UsageError(
            f"{base.result.folder} and {new.result.folder} are of one session ({min(both)}): within a "
                         "result two selectors are compared, compare RESULT write=nodelay write=cork")


def sessions_notes(base: Side, new: Side) -> list[str]:
    """That variation between sessions is unknown, while there are too few of them."""
    counts = len(base.sessions), len(new.sessions)
    if min(counts) >= stats.SIDES_NEEDED:
        return []
    return [
        f"variation between sessions is unknown: {counts[0]} of the base and {counts[1]} of the new side, "
            f"{stats.SIDES_NEEDED} of each are needed (run --more adds one)"]


def compare_results(base: Matrix, new: Matrix, base_words: Words, new_words: Words,
                    metrics: Sequence[Metric],
                    declared: Collection[str] = ()) -> Comparison:
    """Two results of different sessions; declared: what else the comparison is about, a kind of
    fact or its name.

    UsageError: a selector has no cell, no cells belong together, or the results have a session in
    common.
    """
    sessions_check(base, new)
    compared = words_compared(base_words, new_words)
    axes = tuple(dict.fromkeys([*base.axes, *new.axes]))
    cells = cells_select(base, base_words), cells_select(new, new_words)
    pairing = pairing_make(*cells, axes, compared)
    names = result_names(((base, cells[0]), (new, cells[1])), (base_words, new_words), compared)
    sides = [Side(name, matrix, words, tuple(sessions_of(matrix)))
             for name, matrix, words in zip(names, (base, new), (base_words, new_words),
                                            strict=True)]
    words = [Difference("words", key, base_words[key], new_words[key]) for key in compared]
    builds = builds_compare(((base, base_words), (new, new_words)))
    machines = machines_compare((base, new), pairs_good(pairing))
    found = (*machines, *builds, *words, *pairing.differences,
             *fixed_differences(pairing, compared))
    notes = [f"{side.name}: {note}" for side in sides for note in side.matrix.result.notes]
    return comparison_make(sides[0], sides[1], pairing, metrics,
                           differences_declare(found, {*declared, *compared}),
                           [*sessions_notes(*sides), *notes])


def is_baseline_ratio(matrix: Matrix, pair: Pair, change: Change, metric: str) -> bool:
    """Whether a change is the ratio of its new cell to the baseline; of exact counts there is none
    to compare."""
    known = baseline_ratio(matrix, pair.new, metric) if pair.new else None
    return change.ratio is None or change.p is None or (known is not None and known == change.ratio)


def family_choose(sides: tuple[Matrix, Matrix], pairs: Sequence[Pair],
                  changes: Mapping[int, Change],
                  metric: Metric) -> tuple[Family, Mapping[int, Hashable]]:
    """The family of changes, and by place of its pair the key of each in it."""
    if sides[0] is sides[1] and all(is_baseline_ratio(sides[0], pairs[place], change, metric.name)
                                    for place, change in changes.items()):
        cells = {place: new.name for place in changes if (new := pairs[place].new)}
        return baseline_family(sides[0], metric.name), cells
    return family_make({place: change.ratio for place, change in changes.items()}), {
        place: place for place in changes}


def change_settle(change: Change, family: Family, key: Hashable) -> Change:
    """The change with what may be said of it."""
    exact = change.base.exact and change.new.exact
    verdict = Verdict.EXACT if exact else family.verdict(key, change.ratio)
    return replace(change, adjusted=family.adjusted.get(key), verdict=verdict,
                   detectable=change.detectable if verdict is Verdict.SAME else None)
