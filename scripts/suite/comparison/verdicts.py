# SPDX-License-Identifier: MIT
"""What may be said of changes: of each by its interval, and of all cells of a metric together.

Of many cells some look changed by chance, so p is corrected for their number (Benjamini and Hochberg):
of what is called changed at most 5 % is expected to be chance. What the correction takes back is
bracketed, not hidden.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from suite import stats
from suite.comparison.model import Change, Verdict
from suite.comparison.samples import Sample


def verdict_of(change: Change, adjusted: float | None) -> Verdict:
    """What may be said of one change, with its p after the correction."""
    if change.base.exact and change.new.exact:
        return Verdict.EXACT
    if change.ratio is None or change.ratio.interval is None:
        return Verdict.UNKNOWN
    if change.ratio.interval.contains(1.0):
        return Verdict.SAME
    return Verdict.CHANGED if adjusted is not None and adjusted <= stats.ALPHA else Verdict.BRACKETED


def changes_settle(changes: Sequence[Change]) -> list[Change]:
    """The changes of one metric with their verdicts, in the same order."""
    tested = [index for index, change in enumerate(changes) if change.p is not None]
    corrected = dict(zip(tested, stats.benjamini_hochberg([changes[index].p for index in tested]), strict=True))
    settled = []
    for index, change in enumerate(changes):
        verdict = verdict_of(change, corrected.get(index))
        settled.append(replace(change, adjusted=corrected.get(index), verdict=verdict,
                               detectable=change.detectable if verdict is Verdict.SAME else None))
    return settled


def p_smallest(sample: Sample) -> float:
    """The smallest p that can come out of so many rounds, or sessions."""
    new, base = len(sample.new_values), len(sample.base_values)
    return stats.p_least(new) if sample.paired else stats.p_least_unpaired(new, base)


def is_hopeless(samples: Sequence[Sample], changes: Sequence[Change]) -> bool:
    """Whether no p at this number of rounds could survive the correction, in so many cells.

    Of m cells, k of which look changed, all k survive if their p is at most 5 % * k / m. So it is hopeless
    where the smallest p that can come out at all is larger; where nothing looks changed, for one cell alone.
    """
    tested = [sample for sample, change in zip(samples, changes, strict=True) if change.p is not None]
    if not tested:
        return False
    candidates = sum(change.verdict in (Verdict.CHANGED, Verdict.BRACKETED) for change in changes)
    return min(map(p_smallest, tested)) > stats.ALPHA * max(candidates, 1) / len(tested)

