# SPDX-License-Identifier: MIT
"""Builds comparisons: of two selectors in one result, of two results, of a baseline with others."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from suite import stats
from suite.base.errors import UsageError
from suite.base.words import words_text
from suite.contrast.contrast import Unit, Verdict, contrast_make, sessions_of
from suite.contrast.verdicts import Family, Judged, pair_judged, rows_opposed
from suite.decide.comparison.differences import (
    builds_compare,
    cells_compare,
    differences_declare,
    facts_compare,
    plan_facts,
    refusals_check,
)
from suite.decide.comparison.model import Change, Comparison, Difference, Mean, Row, Side
from suite.decide.comparison.samples import change_make, changes_geomean
from suite.decide.comparison.sides import Pairing, baseline_others, pairing_make, words_compared
from suite.observe.frame import Cell, Matrix, rounds_common
from suite.observe.machines import TIMES_INVALID, machines_of
from suite.observe.metrics import Metric
from suite.observe.selection import Selection, cells_select


class TimesInvalid(UsageError):
    """The user asks for times only, and the machines are emulated."""


def metric_compare(sides: tuple[Matrix, Matrix], rows: Sequence[Row], metric: Metric
                   ) -> tuple[dict[int, Change], Mean | None, Family]:
    """The changes of a metric with verdicts, by index of the row; their mean; their family."""
    pairs = {index: row.pair for index, row in enumerate(rows) if row.pair and all(
        len(matrix.series(cell.name, metric.name))
        for matrix, cell in zip(sides, row.pair, strict=True))}
    judged = changes_judge(sides, pairs, metric)
    changes = {index: change_make(sides, pairs[index], metric, one)
               for index, one in judged.items()}
    family = next((one.family for one in judged.values()), Family({}))
    changed = any(change.verdict is Verdict.CHANGED for change in changes.values())
    opposed = any(rows_opposed(((rows[index].axes, one) for index, one in judged.items()), metric))
    pooled = changed and not opposed
    return changes, changes_geomean(changes, len(rows)) if pooled else None, family


def changes_judge(sides: tuple[Matrix, Matrix], pairs: Mapping[int, tuple[Cell, Cell]],
                  metric: Metric) -> dict[int, Judged]:
    """The contrasts of these pairs with their family. Within one result the family has all its
    pairs of cells, even if the comparison has few of them (contrast/verdicts.py). Contrasts between
    results are a family of their own."""
    if sides[0] is sides[1]:
        return {index: pair_judged(sides[0], *pair, metric.name) for index, pair in pairs.items()}
    family = Family({index: contrast_make(list(zip(sides, pair, strict=True)), metric.name,
                                          Unit.SESSION) for index, pair in pairs.items()},
                    margin=sides[0].margin)
    return {index: Judged(one, family) for index, one in family.members.items()}


def geomeans_every(comparison: Comparison) -> Comparison:
    """The comparison with geometric means of all rows that have a ratio (geomean=all)."""
    return replace(comparison, geomeans={metric.name: changes_geomean(
        {index: row.changes[metric.name] for index, row in enumerate(comparison.rows)
         if metric.name in row.changes}, len(comparison.rows), every=True)
        for metric in comparison.metrics})


def metrics_allowed(pairs: Sequence[tuple[Cell, Cell]], metrics: Sequence[Metric]
                    ) -> tuple[tuple[Metric, ...], list[str]]:
    """The metrics to compare, only counts if every pair has an emulated cell; and notes."""
    if not pairs or not all(base.emulated or new.emulated for base, new in pairs):
        return tuple(metrics), []
    counted = tuple(metric for metric in metrics if not metric.timed)
    if not counted:
        times = ", ".join(metric.name for metric in metrics)
        raise TimesInvalid(f"{times}: {TIMES_INVALID}; "
                           "ask for counts, columns=segments_per_message")
    return counted, [TIMES_INVALID] if len(counted) < len(metrics) else []


def comparison_make(base: Side, new: Side, pairing: Pairing, metrics: Sequence[Metric],
                    differences: Sequence[Difference], notes: Sequence[str]) -> Comparison:
    sides, rows = (base.matrix, new.matrix), pairing.rows
    metrics, more = metrics_allowed(pairing.good_pairs, metrics)
    unit = Unit.SESSION
    if sides[0] is sides[1]:  # all rows have one unit: one pair without shared rounds decides it
        unit = Unit.ROUND if all(map(rounds_common, pairing.good_pairs)) else Unit.BOOT
    found = {metric.name: metric_compare(sides, rows, metric) for metric in metrics}
    unpaired = sum(row.pair is None for row in rows)
    if unpaired:
        more.append(f"{unpaired} of {len(rows)} rows have a cell on one side only")
    return Comparison(
        base, new, pairing.axes, metrics,
        tuple(replace(row, changes={name: changes[index] for name, (changes, _, _) in found.items()
                                    if index in changes}) for index, row in enumerate(rows)),
        unit, {name: geomean for name, (_, geomean, _) in found.items()},
        {name: family for name, (_, _, family) in found.items()},
        tuple(differences), (*more, *notes))


def compare_cells(matrix: Matrix, base: Selection, new: Selection,
                  metrics: Sequence[Metric]) -> Comparison:
    """Compares two selectors in one result; UsageError if one has no cell, or no word differs."""
    cells = cells_select(matrix, base), cells_select(matrix, new)
    compared = words_compared(base, new)
    if not compared:
        raise UsageError(f'"{words_text(base)}" and "{words_text(new)}" differ in no word: '
                         "give one word two values, write=nodelay write=cork")
    pairing = pairing_make(*cells, matrix.axes, compared)
    sides = [Side(words_text({key: words[key] for key in compared}), matrix, words)
             for words in (base, new)]
    machines = differences_declare(cells_compare((matrix, matrix), pairing.good_pairs), compared)
    differences = (*builds_compare((matrix, matrix), (base, new)), *machines, *pairing.differences)
    return comparison_make(sides[0], sides[1], pairing, metrics, differences, matrix.result.notes)


def compare_pair(matrices: Sequence[Matrix], base: Selection, new: Selection,
                 metrics: Sequence[Metric], declared: Collection[str] = ()) -> Comparison:
    """Compares two selectors in one result, or one in each of two results."""
    if len(matrices) == 1:
        return compare_cells(matrices[0], base, new, metrics)
    return compare_results(matrices[0], matrices[1], base, new, metrics, declared)


def compare_baseline(matrix: Matrix, metrics: Sequence[Metric]) -> list[Comparison]:
    """Compares the baseline, if a result has one, with each other value of its axis, in order.
    UsageError if a difference refuses ratios."""
    base = matrix.baseline
    return [refusals_check(compare_cells(matrix, base, other, metrics))
            for other in baseline_others(matrix, base, {})]


def cells_alone(matrix: Matrix, words: Selection, metrics: Sequence[Metric]) -> Comparison:
    """The cells of a result as a new side without a base: for gates with a figure as limit."""
    cells = cells_select(matrix, words)
    side = Side(words_text(words), matrix, words)
    rows = tuple(Row(cell.axes, None, cell) for cell in cells)
    known = tuple(metric for metric in metrics if not metric.timed
                  or not all(cell.emulated for cell in cells))
    return Comparison(side, side, matrix.axes, known, rows, Unit.ROUND, {}, {}, (),
                      (*([TIMES_INVALID] if len(known) < len(metrics) else []),
                       *matrix.result.notes))


def kernels_text(matrix: Matrix, cells: Sequence[Cell]) -> str:
    ran = machines_of(matrix.result,
                      {cell.name: cell.target for cell in cells}) or matrix.result.machines.values()
    return ", ".join(dict.fromkeys(machine.fact("kernel") for machine in ran))


def result_names(matrices: tuple[Matrix, Matrix], cells: Sequence[Sequence[Cell]],
                 words: tuple[Selection, Selection], compared: Sequence[str]) -> list[str]:
    """Names for two results: the kernel releases if they differ; else the revisions, else the names
    of the results, else the paths of their folders. The compared words follow."""
    results = [matrix.result for matrix in matrices]
    choices = [list(map(kernels_text, matrices, cells)),
               [result.plan.programs.revision for result in results],
               [result.name for result in results], [str(result.folder) for result in results]]
    names = next((names for names in choices if all(names) and names[0] != names[1]), choices[-1])
    return [f"{name} {words_text({key: side[key] for key in compared})}".rstrip()
            for name, side in zip(names, words, strict=True)]


def compare_results(base: Matrix, new: Matrix, base_words: Selection, new_words: Selection,
                    metrics: Sequence[Metric],
                    declared: Collection[str] = ()) -> Comparison:
    """Compares two results of different sessions. declared: the names of axis=. UsageError if a
    selector has no cell, if no two cells are partners, or if a session is in both results."""
    matrices, words = (base, new), (base_words, new_words)
    if common := sessions_of(base).keys() & sessions_of(new).keys():
        raise UsageError(
            f"{base.result.folder} and {new.result.folder} have a common session ({min(common)}): "
            "within a result compare two selectors, "
            "compare RESULT write=nodelay write=cork")
    compared = words_compared(*words)
    axes = tuple(dict.fromkeys([*base.axes, *new.axes]))
    cells = list(map(cells_select, matrices, words))
    pairing = pairing_make(cells[0], cells[1], axes, compared)
    names = result_names(matrices, cells, words, compared)
    sides = list(map(Side, names, matrices, words))
    differences = (*cells_compare(matrices, pairing.good_pairs),
                   *facts_compare(*map(plan_facts, matrices)), *builds_compare(matrices, words),
                   *(Difference("words", key, base_words[key], new_words[key]) for key in compared),
                   *pairing.differences, *pairing.fixed_differences(compared))
    notes = [f"{side.name}: {note}" for side in sides for note in side.matrix.result.notes]
    counts = [len(side.sessions) for side in sides]
    if min(counts) < stats.SIDES_NEEDED:
        notes.insert(0, f"variation between sessions is unknown: {counts[0]} of the base and "
                        f"{counts[1]} of the new side, {stats.SIDES_NEEDED} of each are needed "
                        "(run --more adds one)")
    return comparison_make(sides[0], sides[1], pairing, metrics,
                           differences_declare(differences, {*declared, *compared}), notes)
