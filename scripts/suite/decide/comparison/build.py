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
from suite.decide.comparison.differences import differences_find, refusals_check
from suite.decide.comparison.model import Change, Comparison, Mean, Row, Side, judged_rows
from suite.decide.comparison.sides import baseline_others, words_compared
from suite.decide.summary import figure_make
from suite.observe.frame import Cell, Matrix, rounds_common
from suite.observe.machines import TIMES_INVALID, machines_of
from suite.observe.metrics import Metric
from suite.observe.selection import Selection, cells_select

TIMER_S = (0.035, 0.050)  # time of a message that waits for a delayed acknowledgement of 40 ms


class TimesInvalid(UsageError):
    """The user asks for times only, and the machines are emulated."""


def rows_make(cells: Sequence[Sequence[Cell]], axes: Iterable[str], compared: Sequence[str]
              ) -> tuple[tuple[str, ...], list[Row]]:
    """The words that name the rows, and the rows, without changes. cells: of base and new. axes:
    the words that vary in either result. The rows have every cell of the base with its partners, in
    order, then cells that only the new side has."""
    values = {key: [list(dict.fromkeys(cell.words.get(key, "") for cell in side))
                    for side in cells] for key in (*compared, *axes)}
    for side, key in product((0, 1), compared):
        if len(values[key][side]) > 1:
            raise UsageError(f"{key}={','.join(values[key][side])}: "
                             f"each side must have one value of {key}")
    others = {key: found for key, found in values.items() if key not in compared}
    names = tuple(key for key, found in others.items() if max(map(len, found)) > 1)
    shared = [key for key, (base, new) in others.items()
              if set(base) & set(new) or min(len(base), len(new)) > 1]

    def key_of(cell: Cell) -> tuple[str, ...]:
        return tuple(cell.words.get(key, "") for key in shared)

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
        naming = {key: (new or base) if len(others[key][1]) > len(others[key][0]) else
                  (base or new) for key in names}
        rows.append(Row({key: cell.words.get(key, "") if cell else ""
                         for key, cell in naming.items()}, base, new))
    return names, rows


def waits_for_timer(matrix: Matrix, cell: Cell) -> bool:
    """Whether a message of a cell takes as long as a delayed acknowledgement (Linux: at least
    TCP_DELACK_MIN, include/net/tcp.h). Then its ratios are about that timer."""
    series = matrix.series(cell.name, "time_per_message")
    return bool(len(series)) and TIMER_S[0] <= stats.median(series.values) <= TIMER_S[1]


def change_make(pair: Sequence[contrasts.Side], metric: Metric, judged: Judged) -> Change:
    """The change of a pair of which both sides have values. Its figures are medians of rounds, or
    between results of sessions."""
    contrast = judged.contrast
    rounds = [matrix.series(cell.name, metric.name) for matrix, cell in pair]
    shown = [sessions if contrast.unit is Unit.SESSION and len(sessions) > 1 else own
             for own, sessions in zip(rounds, (contrast.base, contrast.new), strict=True)]
    base, new = (figure_make(series, matrix.is_exact(cell.name, metric.name))
                 for series, (matrix, cell) in zip(shown, pair, strict=True))
    base_outliers, new_outliers = (sum(stats.outliers_mark(own.bounds.tolist())) for own in rounds)
    reaches = [contrasts.same_reach(*side, metric.name) for side in pair]
    return Change(base, new, judged, (base_outliers, new_outliers),
                  max(filter(None, reaches), default=None),
                  any(waits_for_timer(*side) for side in pair))


def changes_make(matrices: Sequence[Matrix], rows: Sequence[Row], metric: Metric
                 ) -> dict[int, Change]:
    """The changes of the rows of which both sides have values, by index. Within one result their
    family has all its pairs of cells, even if the comparison has few of them
    (contrast/verdicts.py). Contrasts between results are a family of their own."""
    pairs = {index: list(zip(matrices, row.pair, strict=True))
             for index, row in enumerate(rows) if row.pair}
    known = {index: pair for index, pair in pairs.items()
             if all(len(matrix.series(cell.name, metric.name)) for matrix, cell in pair)}
    if matrices[0] is matrices[1]:
        judged = {index: pair_judged(matrices[0], base, new, metric.name)
                  for index, ((_, base), (_, new)) in known.items()}
    else:
        family = Family({index: contrasts.contrast_make(pair, metric.name, Unit.SESSION)
                         for index, pair in known.items()}, margin=matrices[0].margin)
        judged = {index: Judged(one, family) for index, one in family.members.items()}
    return {index: change_make(known[index], metric, one) for index, one in judged.items()}


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
    new, base = (pd.concat(side, axis=1, join="inner") for side in (
        [one.contrast.new.by_round for one in usable],
        [one.contrast.base.by_round for one in usable]))
    if base.empty or new.empty:
        return None
    means = [np.exp(np.log(side.to_numpy()).mean(axis=1)) for side in (new, base)]
    ratio = stats.ratio_make(means[0], means[1], usable[0].contrast.paired, centre)
    return Mean(ratio.estimate(), len(usable), left_out, every)


def geomeans_make(rows: Sequence[Row], metrics: Iterable[Metric], every: bool = False
                  ) -> dict[str, Mean]:
    """The geometric means by metric: if some row changed and no two to opposite sides, or every."""
    found = {}
    for metric in metrics:
        judged = judged_rows(rows, metric)
        changed = any(one.verdict is Verdict.CHANGED for _, one in judged)
        if every or (changed and not any(rows_opposed(judged, metric))):
            found[metric.name] = geomean_make(rows, metric, every)
    return {name: mean for name, mean in found.items() if mean}


def geomeans_every(comparison: Comparison) -> Comparison:
    """The comparison with geometric means of all rows that have a ratio (geomean=all)."""
    return replace(comparison,
                   geomeans=geomeans_make(comparison.rows, comparison.metrics, every=True))


def metrics_allowed(cells: Iterable[Sequence[Cell]], metrics: Sequence[Metric]
                    ) -> tuple[Metric, ...]:
    """The metrics to compare: only counts if every pair of cells has an emulated one."""
    valid = [not any(cell.emulated for cell in pair) for pair in cells]
    if not valid or any(valid):
        return tuple(metrics)
    counted = tuple(metric for metric in metrics if not metric.timed)
    if not counted:
        times = ", ".join(metric.name for metric in metrics)
        raise TimesInvalid(f"{times}: {TIMES_INVALID}; "
                           "ask for counts, columns=segments_per_message")
    return counted


def result_names(matrices: Sequence[Matrix], cells: Sequence[Sequence[Cell]]) -> list[str]:
    """Names for two results: the kernel releases if they differ; else the revisions, else the names
    of the results, else the paths of their folders. Empty for one result."""
    results = [matrix.result for matrix in matrices]
    ran = [machines_of(result, {cell.name: cell.target for cell in own}) or result.machines.values()
           for result, own in zip(results, cells, strict=True)]
    choices = [[", ".join(dict.fromkeys(machine.fact("kernel") for machine in own)) for own in ran],
               [result.plan.programs.own.revision for result in results],
               [result.name for result in results], [str(result.folder) for result in results]]
    return ["", ""] if matrices[0] is matrices[1] else next(
        (names for names in choices if all(names) and names[0] != names[1]), choices[-1])


def results_notes(base: Side, new: Side) -> list[str]:
    """The notes of the results of both sides."""
    if base.matrix is new.matrix:
        return list(base.matrix.result.notes)
    counts = len(base.sessions), len(new.sessions)
    few = (f"variation between sessions is unknown: {counts[0]} of the base and {counts[1]} of the "
           f"new side, {stats.SIDES_NEEDED} of each are needed (run --more adds one)")
    return [*([few] if min(counts) < stats.SIDES_NEEDED else []),
            *(f"{side.name}: {note}" for side in (base, new) for note in side.matrix.result.notes)]


def pair_check(matrices: Sequence[Matrix], compared: Sequence[str]) -> None:
    """UsageError if within one result no word differs, or if a session is in both of two."""
    if matrices[0] is matrices[1]:
        if not compared:
            raise UsageError("the two sides differ in no word: give one word two values, "
                             "write=nodelay write=cork")
        return
    common = set.intersection(*({session.name for session in matrix.result.plan.sessions}
                                for matrix in matrices))
    if common:
        raise UsageError(
            f"{matrices[0].result.folder} and {matrices[1].result.folder} have a common session "
            f"({min(common)}): within a result compare two selectors, "
            "compare RESULT write=nodelay write=cork")


def compare_pair(matrices: Sequence[Matrix], base: Selection, new: Selection,
                 metrics: Sequence[Metric], declared: Collection[str] = ()) -> Comparison:
    """Compares two selectors in one result, or one in each of two results of different sessions.
    declared: the names of axis=. UsageError as pair_check(), and if a selector has no cell, or no
    two cells are partners."""
    both, words, compared = (matrices[0], matrices[-1]), (base, new), words_compared(base, new)
    pair_check(both, compared)
    cells = list(map(cells_select, both, words))
    axes, rows = rows_make(cells, dict.fromkeys(axis for one in both for axis in one.axes),
                           compared)
    one, other = (
        Side(f"{name} {words_text({key: own[key] for key in compared})}".strip(), matrix, own)
        for name, matrix, own in zip(result_names(both, cells), both, words, strict=True))
    good = [row.pair for row in rows if row.pair and all(cell.runs_ok for cell in row.pair)]
    allowed = metrics_allowed(good, metrics)
    changes = {metric.name: changes_make(both, rows, metric) for metric in allowed}
    rows = [replace(row, changes={name: found[index] for name, found in changes.items()
                                  if index in found}) for index, row in enumerate(rows)]
    unit = Unit.SESSION if both[0] is not both[1] else (
        Unit.ROUND if all(map(rounds_common, good)) else Unit.BOOT)  # the same for all rows
    unpaired = sum(row.pair is None for row in rows)
    remarks = {TIMES_INVALID: len(allowed) < len(metrics),
               f"{unpaired} of {len(rows)} rows have a cell on one side only": unpaired > 0}
    return Comparison(
        one, other, axes, allowed, tuple(rows), unit,
        geomeans_make(rows, allowed),
        differences_find((one, other), rows, unit, {*declared, *compared}),
        (*(remark for remark, holds in remarks.items() if holds), *results_notes(one, other)))


def compare_baseline(matrix: Matrix, metrics: Sequence[Metric]) -> list[Comparison]:
    """Compares the baseline, if a result has one, with each other value of its axis, in order.
    UsageError if a difference refuses ratios."""
    base = matrix.baseline
    return [refusals_check(compare_pair([matrix], base, other, metrics))
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
