# SPDX-License-Identifier: MIT
"""The lines below the figures of a block: how they were measured, where, and what differs. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from suite.analyse.comparison.build import NO_TIMES
from suite.analyse.comparison.model import Comparison, Difference
from suite.analyse.frame import Cell, Matrix
from suite.analyse.machines import TIMES_INVALID
from suite.analyse.metrics import Metric
from suite.analyse.summary import Figure
from suite.analyse.verdicts import Verdict
from suite.base.units import counted_text
from suite.present.comparison.document import KIND_MOST, kinds_texts
from suite.present.comparison.texts import (
    EVERY,
    MEAN,
    floor_text,
    opposed_of,
    rows_left_out,
    span_text,
)
from suite.present.heading import disturbances_text, known_text, security_text
from suite.present.mail.rules import COLUMNS
from suite.present.mail.setup import machines_tell, network_text, programs_text
from suite.present.tables.model import Pair, Table
from suite.result.plan import builds_text

# of the lines below all figures
LABELS = ("machine", "network", "tls", "uncork", "compared", "differs", "remarks", "disturbed",
          "legend")
# signs of a block, as they are found in its texts, and what they mean
BLOCK_SIGNS = (
    ("+/-", r"\+/-", "farther end of the 95% CI"),
    ("r", r".*%r", "minimum and maximum, too few rounds for a CI"),
    ("~", "~", "undecided, its CI contains 0% (1x)"),
    ("( )", r"\([-+<>\d].*\)", "within the noise (A/A) of its row, or chance among so many"),
    ("?", r"[-+<>\d].*[%x]\?", "too few rounds to say"),
    (">0% <0%", r"\(?[<>]0%.*", "more, less, by how much is not known"),
    ("change", "change", "Hodges-Lehmann ratio, base and new are medians"),
    ("2x", r"\(?\d\S*x\)?\??|\[\S+x, \S+x\]", "new is 2 times base"),
    ("exact", "exact", "the same count in every run"),
    ("-", "-", "no figure"),
    ("BH", r".*\bBH (over )?\d.*", "Benjamini-Hochberg, 5% of all rows of the metric"),
    ("A/A", r".*\bA/A\b.*", "baseline against itself, the farther end of its CI"),
)
LINE_WIDTH = COLUMNS - 2  # a style may put a mark before a line
# What gives way in a line of rounds that is too long, in turn.
SHORTER = (("BH over", "BH"), ("signed-rank CI", "rank CI"), ("rank-sum CI", "rank CI"),
           (" a side,", ","), (" in turns,", ""))


def line_shorten(line: str) -> str:
    """The line in fewer words, as far as it has to be."""
    for long, short in SHORTER:
        line = line.replace(long, short) if len(line) > LINE_WIDTH else line
    return line


def table_rounds_text(figures: Sequence[Figure], floor: float | None, metric: Metric) -> str:
    """The line of rounds of a table, which compares nothing."""
    rounds = span_text([figure.rounds for figure in figures])
    parts = [f"n={rounds} round{'s' if rounds != '1' else ''}, medians"]
    if any(figure.interval and figure.interval.level for figure in figures):
        parts.append("order statistics CI")
    return ", ".join(parts) + ("" if metric.counts and floor is None else f"; {floor_text(floor)}")


def comparison_remarks(comparison: Comparison) -> list[str]:
    """What must not be overlooked, in few words: failures, and marks that the figures have."""
    changes, sessions = comparison.changes(), len(comparison.base.sessions)
    cells = [cell for _, _, cell in comparison.cells()]
    small = sum(change.verdict is Verdict.WITHIN_NOISE for change in changes)
    chance = sum(change.verdict is Verdict.BRACKETED for change in changes)
    few = any(comparison.tested.get(name, 0) for name in comparison.hopeless)
    marks = {f"{small} within A/A": small > 0, f"{chance} may be chance": chance > 0,
             f"{sessions} sessions": comparison.within and sessions > 1,
             "too few rounds for so many rows": few,
             f"{MEAN}={EVERY}": any(mean and mean.every for mean in comparison.geomeans.values())}
    partly = [text for side in comparison.sides for text in known_remarks(
        side.matrix, [cell for _, own, cell in comparison.cells() if own is side],
        comparison.metrics)]
    return [*cells_remarks(cells), *(remark for remark, holds in marks.items() if holds),
            *(f"geomean without {rows_left_out(comparison, mean)}"
              for mean in comparison.geomeans.values()
              if mean and any(why.startswith("n=") for why in mean.left_out.values())),
            *(f"{metric.name} {opposed}" for metric in comparison.metrics
              if (opposed := opposed_of(comparison, metric))),
            *dict.fromkeys(partly),
            *(note for note in comparison.notes if note != NO_TIMES),
            *dict.fromkeys(note for cell in cells for note in cell.remarks)]


def known_remarks(matrix: Matrix, cells: Iterable[Cell], metrics: Iterable[Metric]) -> list[str]:
    """Which cells know a metric in a part of their rounds only, in few words."""
    return [text for metric in metrics if (text := known_text(matrix, cells, metric))]


def cells_remarks(cells: Sequence[Cell]) -> list[str]:
    """Runs that failed, cells that could not run, and those that have no times."""
    emulated = sum(bool(cell.emulated) for cell in cells)
    failed = sum(cell.runs_failed for cell in cells)
    every = all(cell.emulated or not cell.runs_ok for cell in cells)
    statuses = Counter(cell.status for cell in cells)
    counts = [
        (emulated, f"{'' if every else counted_text(emulated, 'cell') + ' '}{TIMES_INVALID}"),
        (failed, f"{counted_text(failed, 'run')} failed"),
        *((statuses[status], f"{counted_text(statuses[status], 'cell')} {status}")
          for status in ("unsupported", "failed", "missing"))]
    return [remark for count, remark in counts if count]


def differs_text(differences: Iterable[Difference]) -> str:
    """These differences, first those across which no ratio is valid."""
    ordered = sorted(differences, key=lambda difference: not difference.refuses)
    return "; ".join(kinds_texts(ordered, KIND_MOST))


def legend_text(tables: Sequence[Table]) -> str:
    """What the signs mean that occur in these tables."""
    texts = {text for table in tables for text in (table.below, *(
        one for column in table.columns[len(table.keys):]
        for one in (column.head, *(item.text for item in column.items))))}
    return "; ".join(f"{sign} = {means}" for sign, pattern, means in BLOCK_SIGNS
                     if any(re.fullmatch(pattern, text) for text in texts))


def foot_pairs(matrix: Matrix, cells: Sequence[Cell], tables: Sequence[Table],
               remarks: Sequence[str], comparison: Comparison | None = None) -> list[Pair]:
    """All lines below the figures of these cells, each with its label, without empty ones."""
    differences = comparison.differences if comparison else ()
    matrices = [side.matrix for side in comparison.sides] if comparison else [matrix]
    compared, others = (differs_text(one for one in differences if one.declared is declared)
                        for declared in (True, False))
    builds = "" if any(one.kind == "binaries" for one in differences) else builds_text(
        matrix.result.plan)
    security = security_text(matrix) if any(
        cell.words.get("security", "plain") != "plain" for cell in cells) else ""
    texts = (machines_tell(matrix, cells), network_text(matrix, cells), security,
             "; ".join(filter(None, [programs_text(matrix), builds])),
             compared, others or "nothing else" if comparison else "", "; ".join(remarks),
             "; ".join(filter(None, dict.fromkeys(map(disturbances_text, matrices)))),
             legend_text(tables))
    return [pair for pair in zip(LABELS, texts, strict=True) if pair[1]]
