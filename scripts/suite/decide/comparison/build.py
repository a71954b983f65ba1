# SPDX-License-Identifier: MIT
"""Builds comparisons: cells become pairs, pairs contrasts, contrasts changes and their mean.

The words that differ between the two selectors are compared. Every other word that varies names a
row, and two cells are partners if they agree in all of these. If a word has one value on one side
that the other side does not have, it cannot name partners: it is reported as a difference.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from suite import stats
from suite.base import grouped
from suite.base.errors import UsageError
from suite.base.words import words_text
from suite.contrast import contrast as contrasts
from suite.contrast.contrast import Status, Unit, Verdict
from suite.contrast.verdicts import Family, Judged, pair_judged, rows_opposed
from suite.decide.comparison import differences
from suite.decide.comparison.model import (
    Change,
    Comparison,
    Difference,
    Mean,
    Row,
    Side,
    judged_rows,
)
from suite.decide.comparison.sides import baseline_others, words_compared
from suite.decide.summary import figure_make
from suite.observe.frame import Cell, Matrix, rounds_common
from suite.observe.machines import TIMES_INVALID, machines_of
from suite.observe.metrics import Metric
from suite.observe.selection import Selection, cells_select

TIMER_S = (0.035, 0.050)  # time of a message that waits for a delayed acknowledgement of 40 ms
CellPair = tuple[Cell, Cell]  # base and new
MatrixPair = tuple[Matrix, Matrix]  # twice the same within one result


class TimesInvalid(UsageError):
    """The user asks for times only, and the machines are emulated."""


def rows_make(cells: Sequence[Sequence[Cell]], axes: Iterable[str], compared: Sequence[str]
              ) -> tuple[tuple[str, ...], tuple[Row, ...], list[Difference]]:
    """The words that name the rows; the rows, without changes; the words that differ and cannot
    name partners. cells: of base and new. axes: the words that vary in either result. The rows have
    every cell of the base with its partners, in order, then cells that only the new side has."""
    values = {key: [list(dict.fromkeys(cell.words.get(key, "") for cell in side))
                    for side in cells] for key in (*compared, *axes)}
    for side, key in product((0, 1), compared):
        if len(values[key][side]) > 1:
            raise UsageError(f"{key}={','.join(values[key][side])}: "
                             f"each side must have one value of {key}")
    names, shared, unshared = [], [], []
    named_by_new = set()  # words that vary on the new side only
    for axis in (axis for axis in axes if axis not in compared):
        base_values, new_values = values[axis]
        if max(len(base_values), len(new_values)) > 1:
            names.append(axis)
        if set(base_values) & set(new_values) or min(len(base_values), len(new_values)) > 1:
            shared.append(axis)
            continue
        if len(new_values) > 1:
            named_by_new.add(axis)
        texts = [",".join(value or "none" for value in side) for side in values[axis]]
        unshared.append(Difference("words", axis, texts[0], texts[1]))

    def key_of(cell: Cell) -> tuple[str, ...]:
        return tuple(cell.words.get(axis, "") for axis in shared)

    partners = grouped((key_of(cell), cell) for cell in cells[1])
    known = set(map(key_of, cells[0]))
    pairs: list[tuple[Cell | None, Cell | None]] = [
        (cell, other) for cell in cells[0] for other in partners.get(key_of(cell), [None])]
    if not any(new for _, new in pairs):
        raise UsageError("no cell of one side has a partner on the other: "
                         f"they share no value of {', '.join(shared)}")
    pairs += [(None, cell) for cell in cells[1] if key_of(cell) not in known]
    rows = []
    for base, new in pairs:
        naming = {axis: (new or base) if axis in named_by_new else (base or new) for axis in names}
        rows.append(Row({axis: cell.words.get(axis, "") if cell else ""
                         for axis, cell in naming.items()}, base, new))
    return tuple(names), tuple(rows), unshared


def fixed_differences(rows: Sequence[Row], known: Collection[str]) -> list[Difference]:
    """The words in which partners differ, without the known ones: fixed words and defaults."""
    found = grouped((key, (base.words[key], new.words[key]))
                    for base, new in (row.pair for row in rows if row.pair)
                    for key in words_compared(base.words, new.words) if key not in known)
    return [Difference("words", key, ",".join(dict.fromkeys(base for base, _ in pairs)),
                       ",".join(dict.fromkeys(new for _, new in pairs)))
            for key, pairs in sorted(found.items())]


def waits_for_timer(matrix: Matrix, cell: Cell) -> bool:
    """Whether a message of a cell takes as long as a delayed acknowledgement (Linux: at least
    TCP_DELACK_MIN, include/net/tcp.h). Then its ratios are about that timer."""
    series = matrix.series(cell.name, "time_per_message")
    return bool(len(series)) and TIMER_S[0] <= stats.median(series.values) <= TIMER_S[1]


def change_make(matrices: MatrixPair, cells: CellPair, metric: Metric, judged: Judged) -> Change:
    """The change of a pair of which both sides have values. Its figures are medians of rounds, or
    between results of sessions."""
    contrast, sides = judged.contrast, list(zip(matrices, cells, strict=True))
    rounds = [matrix.series(cell.name, metric.name) for matrix, cell in sides]
    shown = [sessions if contrast.unit is Unit.SESSION and len(sessions) > 1 else own
             for own, sessions in zip(rounds, (contrast.base, contrast.new), strict=True)]
    base, new = (figure_make(series, matrix.is_exact(cell.name, metric.name))
                 for series, (matrix, cell) in zip(shown, sides, strict=True))
    base_outliers, new_outliers = (sum(stats.outliers_mark(own.bounds.tolist())) for own in rounds)
    reaches = [contrasts.same_reach(*side, metric.name) for side in sides]
    return Change(base, new, judged, (base_outliers, new_outliers),
                  max(filter(None, reaches), default=None),
                  any(waits_for_timer(*side) for side in sides))


def changes_make(matrices: MatrixPair, rows: Sequence[Row], metric: Metric) -> dict[int, Change]:
    """The changes of the rows of which both sides have values, by index. Within one result their
    family has all its pairs of cells, even if the comparison has few of them
    (contrast/verdicts.py). Contrasts between results are a family of their own."""
    pairs = {index: row.pair for index, row in enumerate(rows) if row.pair and all(
        len(matrix.series(cell.name, metric.name))
        for matrix, cell in zip(matrices, row.pair, strict=True))}
    if matrices[0] is matrices[1]:
        judged = {index: pair_judged(matrices[0], *pair, metric.name)
                  for index, pair in pairs.items()}
    else:
        family = Family({index: contrasts.contrast_make(list(zip(matrices, pair, strict=True)),
                                                        metric.name, Unit.SESSION)
                         for index, pair in pairs.items()}, margin=matrices[0].margin)
        judged = {index: Judged(one, family) for index, one in family.members.items()}
    return {index: change_make(matrices, pairs[index], metric, one)
            for index, one in judged.items()}


def exclusion_text(change: Change | None, most: int, every: bool) -> str:
    """Why a row is not in a geometric mean; empty if it is. most: how many values the longest row
    has. every: only rows without a ratio are left out. Else exact counts are too, in which chance
    plays no part; and rows without an interval, whose few rounds would be those of all rows."""
    contrast = change.contrast if change else None
    if contrast is None or not (contrast.ratio or (contrast.exact and every)):
        return "only a direction" if contrast and contrast.censored else (
            "exact counts" if contrast and contrast.exact else "no ratio")
    if every:
        return "" if contrast.base.positive and contrast.new.positive else "no ratio"
    if change and change.timer:
        return "40 ms timer"
    if contrast.status is not Status.OK:
        return contrast.status.value
    needed = stats.ROUNDS_NEEDED if contrast.paired else stats.SIDES_NEEDED
    return f"n={contrast.size}" if contrast.size < needed <= most else ""


def geomean_make(rows: Sequence[Row], metric: Metric, every: bool = False) -> Mean | None:
    """The geometric mean of new / base: its value is that of the printed ratios. every: of all rows
    with a ratio. None if fewer than two rows are usable, or no round or session is in all of
    them."""
    changes = [row.changes.get(metric.name) for row in rows]
    most = max((one.contrast.size for one in changes if one and one.contrast.ratio), default=0)
    left_out = {index: why for index, one in enumerate(changes)
                if (why := exclusion_text(one, most, every))}
    usable = [one for index, one in enumerate(changes) if one and index not in left_out]
    if len(usable) < 2:
        return None
    centre = float(np.exp(np.mean([np.log(one.ratio.value) for one in usable if one.ratio])))
    base, new = (pd.concat(sides, axis=1, join="inner") for sides in (
        [one.contrast.base.by_round for one in usable],
        [one.contrast.new.by_round for one in usable]))
    paired = usable[0].contrast.paired
    if paired:
        both = base.index.intersection(new.index)
        base, new = base.loc[both], new.loc[both]
    if base.empty or new.empty:
        return None
    new_means, base_means = (np.exp(np.log(side.to_numpy()).mean(axis=1)) for side in (new, base))
    ratio = stats.ratio_make(new_means, base_means, paired, centre).estimate()
    return Mean(ratio, len(usable), left_out, every)


def geomean_of_changed(rows: Sequence[Row], metric: Metric) -> Mean | None:
    """The geometric mean, if some row changed and no two to opposite sides."""
    judged = judged_rows(rows, metric)
    changed = any(one.verdict is Verdict.CHANGED for _, one in judged)
    return geomean_make(rows, metric) if changed and not any(rows_opposed(judged, metric)) else None


def geomeans_every(comparison: Comparison) -> Comparison:
    """The comparison with geometric means of all rows that have a ratio (geomean=all)."""
    return replace(comparison, geomeans={
        metric.name: mean for metric in comparison.metrics
        if (mean := geomean_make(comparison.rows, metric, every=True))})


def metrics_allowed(pairs: Sequence[CellPair], metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """The metrics to compare: only counts if every pair has an emulated cell."""
    if not pairs or not all(base.emulated or new.emulated for base, new in pairs):
        return tuple(metrics)
    counted = tuple(metric for metric in metrics if not metric.timed)
    if not counted:
        times = ", ".join(metric.name for metric in metrics)
        raise TimesInvalid(f"{times}: {TIMES_INVALID}; "
                           "ask for counts, columns=segments_per_message")
    return counted


def kernels_text(matrix: Matrix, cells: Sequence[Cell]) -> str:
    ran = machines_of(matrix.result,
                      {cell.name: cell.target for cell in cells}) or matrix.result.machines.values()
    return ", ".join(dict.fromkeys(machine.fact("kernel") for machine in ran))


def result_names(matrices: MatrixPair, cells: Sequence[Sequence[Cell]]) -> list[str]:
    """Names for two results: the kernel releases if they differ; else the revisions, else the names
    of the results, else the paths of their folders."""
    results = [matrix.result for matrix in matrices]
    choices = [list(map(kernels_text, matrices, cells)),
               [result.plan.programs.revision for result in results],
               [result.name for result in results], [str(result.folder) for result in results]]
    return next((names for names in choices if all(names) and names[0] != names[1]), choices[-1])


def results_notes(sides: Sequence[Side]) -> list[str]:
    """Notes on a comparison of two results."""
    base, new = (len(side.sessions) for side in sides)
    few = [f"variation between sessions is unknown: {base} of the base and {new} of the new side, "
           f"{stats.SIDES_NEEDED} of each are needed (run --more adds one)"]
    return [*(few if min(base, new) < stats.SIDES_NEEDED else []),
            *(f"{side.name}: {note}" for side in sides for note in side.matrix.result.notes)]


def compare_pair(matrices: Sequence[Matrix], base: Selection, new: Selection,
                 metrics: Sequence[Metric], declared: Collection[str] = ()) -> Comparison:
    """Compares two selectors in one result, or one in each of two results of different sessions.
    declared: the names of axis=. UsageError if a selector has no cell, if within one result no word
    differs, if no two cells are partners, or if a session is in both results."""
    pair, words, within = (matrices[0], matrices[-1]), (base, new), len(matrices) == 1
    common = set.intersection(*({session.name for session in matrix.result.plan.sessions}
                                for matrix in pair))
    if common and not within:
        raise UsageError(
            f"{pair[0].result.folder} and {pair[1].result.folder} have a common session "
            f"({min(common)}): within a result compare two selectors, "
            "compare RESULT write=nodelay write=cork")
    cells, compared = list(map(cells_select, pair, words)), words_compared(base, new)
    if within and not compared:
        raise UsageError(f'"{words_text(base)}" and "{words_text(new)}" differ in no word: '
                         "give one word two values, write=nodelay write=cork")
    axes, rows, unshared = rows_make(cells, dict.fromkeys([*pair[0].axes, *pair[1].axes]), compared)
    good = [row.pair for row in rows if row.pair and all(cell.runs_ok for cell in row.pair)]
    allowed = metrics_allowed(good, metrics)
    names = ["", ""] if within else result_names(pair, cells)
    sides = [Side(f"{name} {words_text({key: own[key] for key in compared})}".strip(), matrix, own)
             for name, matrix, own in zip(names, pair, words, strict=True)]
    machines = differences.cells_compare(pair, good)
    builds = differences.builds_compare(pair, words)
    if within:
        unit = Unit.ROUND if all(map(rounds_common, good)) else Unit.BOOT  # the same for all rows
        told = (*builds, *differences.differences_declare(machines, compared), *unshared)
        notes: Sequence[str] = pair[0].result.notes
    else:
        unit = Unit.SESSION
        known = {*compared, *axes, *(one.name for one in unshared)}
        told = differences.differences_declare(
            (*machines, *differences.facts_compare(*map(differences.plan_facts, pair)), *builds,
             *(Difference("words", key, base[key], new[key]) for key in compared),
             *unshared, *fixed_differences(rows, known)), {*declared, *compared})
        notes = results_notes(sides)
    changes = {metric.name: changes_make(pair, rows, metric) for metric in allowed}
    changed_rows = tuple(
        replace(row, changes={name: found[index] for name, found in changes.items()
                              if index in found}) for index, row in enumerate(rows))
    geomeans = {metric.name: mean for metric in allowed
                if (mean := geomean_of_changed(changed_rows, metric))}
    unpaired = sum(row.pair is None for row in rows)
    remarks = {TIMES_INVALID: len(allowed) < len(metrics),
               f"{unpaired} of {len(rows)} rows have a cell on one side only": unpaired > 0}
    return Comparison(sides[0], sides[1], axes, allowed, changed_rows, unit, geomeans, told,
                      (*(remark for remark, holds in remarks.items() if holds), *notes))


def compare_baseline(matrix: Matrix, metrics: Sequence[Metric]) -> list[Comparison]:
    """Compares the baseline, if a result has one, with each other value of its axis, in order.
    UsageError if a difference refuses ratios."""
    base = matrix.baseline
    return [differences.refusals_check(compare_pair([matrix], base, other, metrics))
            for other in baseline_others(matrix, base, {})]


def cells_alone(matrix: Matrix, words: Selection, metrics: Sequence[Metric]) -> Comparison:
    """The cells of a result as a new side without a base: for gates with a figure as limit."""
    cells = cells_select(matrix, words)
    side = Side(words_text(words), matrix, words)
    known = tuple(metric for metric in metrics if not metric.timed
                  or not all(cell.emulated for cell in cells))
    notes = ([TIMES_INVALID] if len(known) < len(metrics) else []) + [*matrix.result.notes]
    return Comparison(side, side, matrix.axes, known, tuple(
        Row(cell.axes, None, cell) for cell in cells), Unit.ROUND, {}, (), tuple(notes))
