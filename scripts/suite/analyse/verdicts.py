# SPDX-License-Identifier: MIT
"""The verdicts of ratios: of each by its interval, and of all of one metric together.

Of many rows some look changed by chance. So p is corrected for their number (Benjamini and
Hochberg): of what is called changed at most 5 % is expected to be chance, and where nothing
changed, anything is called changed in at most 5 % of results. What the correction takes back is
bracketed, not hidden.

The family of a ratio to the baseline is every such ratio of that metric in the result. It does not
depend on the command or on the rows that a command selects, so that all commands say the same of a
row.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import Enum
from typing import NamedTuple, TypeVar

from suite import stats
from suite.analyse.frame import Cell, Matrix, baseline_find, baseline_words, ratio_between

KeyType = TypeVar("KeyType", bound=Hashable)


class Verdict(Enum):
    """The verdict of a change; the value is its mark in a table."""

    CHANGED = ""      # the interval excludes 1, and it survives the correction for many rows
    BRACKETED = "()"  # the interval excludes 1, but as one of so many rows it may be chance
    SAME = "~"        # the interval contains 1
    UNKNOWN = "?"     # too few rounds, or sessions, to say anything
    EXACT = "="       # counts that are the same in every run of both sides: no interval is needed

    @property
    def word(self) -> str:
        """The verdict as programs read it."""
        return self.name.lower()


class Family(NamedTuple):
    """Ratios that are corrected together. adjusted: their p after the correction, by key.

    hopeless: no p that so few rounds can give would survive the correction. Of m rows of which k
    look changed, all k survive where their p is at most 5 % * k / m.
    """

    adjusted: Mapping[Hashable, float]
    hopeless: bool

    @property
    def tested(self) -> int:
        """How many ratios were corrected."""
        return len(self.adjusted)

    def verdict(self, key: Hashable, ratio: stats.Estimate | None) -> Verdict:
        """The verdict of one of its ratios, or of one that is none of them because it has no p."""
        if ratio is None or ratio.interval is None:
            return Verdict.UNKNOWN
        if ratio.interval.contains(1.0):
            return Verdict.SAME
        return Verdict.CHANGED if self.adjusted[key] <= stats.ALPHA else Verdict.BRACKETED


def family_make(ratios: Mapping[KeyType, stats.Estimate | None]) -> Family:
    """The family of these ratios; those without p are none of it."""
    tested = {key: (ratio.p, ratio.p_least) for key, ratio in ratios.items()
              if ratio is not None and ratio.p is not None}
    adjusted = stats.benjamini_hochberg([p for p, _ in tested.values()])
    claimed = sum(p <= stats.ALPHA for p, _ in tested.values())
    least = min((p_least for _, p_least in tested.values()), default=0.0)
    hopeless = bool(tested) and least > stats.ALPHA * max(claimed, 1) / len(tested)
    return Family(dict(zip(tested, adjusted, strict=True)), hopeless)


def both_exact(matrix: Matrix, cell: Cell, base: Cell, metric: str) -> bool:
    """Whether both sides are counts that were the same in every run."""
    return matrix.is_exact(cell.name, metric) and matrix.is_exact(base.name, metric)


def baseline_ratio(matrix: Matrix, cell: Cell, metric: str) -> stats.Estimate | None:
    """The ratio of a cell to its baseline; None where it is a baseline, or has none, or they share
    nothing."""
    key = ("ratio", cell.name, metric)
    if key not in matrix.memo:
        base = baseline_find(matrix, cell, baseline_words(matrix))
        known = base is not None and base.name != cell.name
        matrix.memo[key] = ratio_between(matrix, cell, base, metric) if base and known else None
    return matrix.memo[key]


def baseline_family(matrix: Matrix, metric: str) -> Family:
    """The family of all ratios to the baseline, by cell. Exact counts are no matter of chance."""
    key = ("family", metric)
    if key not in matrix.memo:
        words, ratios = baseline_words(matrix), {}
        for cell in matrix.whole.cells.values():
            base = baseline_find(matrix, cell, words)
            if base is not None and not both_exact(matrix, cell, base, metric):
                ratios[cell.name] = baseline_ratio(matrix, cell, metric)
        matrix.memo[key] = family_make(ratios)
    return matrix.memo[key]


def baseline_verdict(matrix: Matrix, cell: Cell, metric: str) -> Verdict | None:
    """The verdict of a cell's ratio to its baseline; None where there is no ratio."""
    ratio = baseline_ratio(matrix, cell, metric)
    base = baseline_find(matrix, cell, baseline_words(matrix))
    if ratio is None or base is None:
        return None
    if both_exact(matrix, cell, base, metric):
        return Verdict.EXACT
    return baseline_family(matrix, metric).verdict(cell.name, ratio)
