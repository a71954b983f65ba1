# SPDX-License-Identifier: MIT
"""What may be said of the changes of one metric, each as one of its family
(suite/analyse/verdicts.py).

Changes against the baseline of a result belong to the family of all ratios to it, however few of
them a comparison has. Any others are a family of their own.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from suite.analyse.comparison.model import Change
from suite.analyse.comparison.sides import Pair
from suite.analyse.frame import Matrix
from suite.analyse.metrics import Metric
from suite.analyse.verdicts import Family, Verdict, baseline_family, baseline_ratio, family_make


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
