# SPDX-License-Identifier: MIT
"""Gains: what a cell has more of a metric than its baseline, round by round, as patches report it.

`pre` is the baseline, `post` another cell, and a gain is post / pre - 1 within a round. The
baseline has a gain too: that of its second run over its first, from which the noise floor is.
Between kernels, which share no round, it is of all boots of one to all of the other.
"""

from __future__ import annotations

from dataclasses import dataclass

from suite import stats
from suite.analyse.frame import Cell, Matrix, ratio_of, rounds_common, runs_paired, series_between
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


def gain_build(matrix: Matrix, cell: Cell, base: Cell | None, metric: Metric) -> Gain | None:
    """The gain of a cell; None where it has no baseline, or no good round to compare with one of
    it."""
    if base is None:
        return None
    same = cell.name == base.name
    sides = (runs_paired(matrix, cell.name, metric.name) if same
             else series_between(matrix, base, cell, metric.name))
    if sides is None:
        return None
    pre, post = sides
    shared = rounds_common((cell, base))
    ratio = ratio_of(post, pre, shared)
    gains = [None] if not shared or pre.censored or post.censored else sorted(
        (post.values / pre.values - 1).tolist(), reverse=metric.better == "lower")
    # A' / A is no change but by chance, for nothing differs: no p is small enough
    verdict = (Family({cell.name: 1.0}, False).verdict(cell.name, ratio) if same
               else baseline_verdict(matrix, cell, metric.name))
    medians = [stats.median(side.values, side.bounds) for side in sides]
    published = published_ratios(matrix, cell, metric.name, base, LABEL_AGAIN if same else LABEL)
    return Gain(medians[0], medians[1], ratio, gains[0], gains[-1], published, verdict)
