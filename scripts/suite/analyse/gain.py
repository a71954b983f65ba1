# SPDX-License-Identifier: MIT
"""Gains: what a cell has more of a metric than its baseline, round by round, as patches report it.

`pre` is the baseline, `post` another cell, and a gain is post / pre - 1 within a round. The
baseline has a gain too: that of its second run over its first, from which the noise floor is.
Between kernels, which share no round, it is of all boots of one to all of the other.
"""

from __future__ import annotations

from dataclasses import dataclass

from suite import stats
from suite.analyse.frame import (
    Cell,
    Matrix,
    Series,
    ratio_of,
    rounds_common,
    runs_paired,
    series_between,
)
from suite.analyse.metrics import Metric
from suite.analyse.published_ratios import PublishedRatio, published_ratios
from suite.analyse.verdicts import Family, Verdict, baseline_verdict
from suite.scenario.scenario import LABEL, LABEL_AGAIN


@dataclass(frozen=True)
class Gain:
    """pre, post: medians, which may be stats.Beyond. ratio: post / pre (Hodges-Lehmann). worst,
    best: gains of one round, None where none is shared or known. verdict: what may be said of the
    ratio."""

    pre: float
    post: float
    ratio: stats.Estimate
    worst: float | None
    best: float | None
    published: tuple[PublishedRatio, ...]
    verdict: Verdict | None


def sides_find(matrix: Matrix, cell: Cell, base: Cell, metric: str) -> tuple[Series, Series] | None:
    """pre and post, all above 0, by round where they share rounds; None where there are none."""
    if cell.name != base.name:
        return series_between(matrix, base, cell, metric)
    return runs_paired(matrix, cell.name, metric)


def rounds_extreme(pre: Series, post: Series, metric: Metric) -> tuple[float, float]:
    """The worst and the best gain of a round, none of which is censored."""
    gains = sorted((post.values / pre.values - 1).tolist(), reverse=metric.better == "lower")
    return gains[0], gains[-1]


def again_verdict(ratio: stats.Estimate) -> Verdict:
    """What may be said of A' / A: that it contains 1, or else is chance, for nothing differs."""
    return Family({"again": 1.0}, False).verdict("again", ratio)  # no p is small enough


def gain_build(matrix: Matrix, cell: Cell, base: Cell | None, metric: Metric) -> Gain | None:
    """The gain of a cell; None where it has no baseline, or no good round to be held against one of
    it."""
    sides = sides_find(matrix, cell, base, metric.name) if base else None
    if base is None or sides is None:
        return None
    pre, post = sides
    shared, censored = rounds_common((cell, base)), pre.censored or post.censored
    worst, best = rounds_extreme(pre, post, metric) if shared and not censored else (None, None)
    label = LABEL_AGAIN if cell.name == base.name else LABEL
    ratio = ratio_of(post, pre, shared)
    same = cell.name == base.name
    verdict = again_verdict(ratio) if same else baseline_verdict(matrix, cell, metric.name)
    return Gain(*(stats.median(side.values, side.bounds) for side in sides), ratio, worst, best,
                published_ratios(matrix, cell, metric.name, base, label), verdict)
