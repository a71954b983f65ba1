# SPDX-License-Identifier: MIT
"""Gains: what a cell has more of a metric than its baseline, round by round, as patches report it.

`pre` is the baseline, `post` another cell, and a gain is post / pre - 1 within a round. The
baseline has a gain too: that of its second run over its first, which is what the machine invents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suite import stats
from suite.frame import Cell, Matrix, rounds_shared, runs_paired
from suite.metrics import Metric
from suite.quotes import Quote, quotes_find
from suite.scenario import LABEL, LABEL_AGAIN


@dataclass(frozen=True)
class Gain:
    """pre, post: medians. ratio: post / pre (Hodges-Lehmann). worst, best: gains of one round."""

    pre: float
    post: float
    ratio: stats.Estimate
    worst: float
    best: float
    quotes: tuple[Quote, ...]


def sides_find(matrix: Matrix, cell: Cell, base: Cell, metric: str
               ) -> tuple[np.ndarray, np.ndarray] | None:
    """pre and post by round, all above 0; None where there are none."""
    if cell.name != base.name:
        return rounds_shared(matrix, base.name, cell.name, metric)
    return runs_paired(matrix, cell.name, metric)


def gain_build(matrix: Matrix, cell: Cell, base: Cell | None, metric: Metric) -> Gain | None:
    """The gain of a cell; None where it has no baseline or shares no good round with it."""
    sides = sides_find(matrix, cell, base, metric.name) if base else None
    if base is None or sides is None:
        return None
    pre, post = sides
    gains = sorted((post / pre - 1).tolist(), reverse=metric.better == "lower")
    label = LABEL_AGAIN if cell.name == base.name else LABEL
    return Gain(stats.median(pre.tolist()), stats.median(post.tolist()),
                stats.ratio_estimate(post.tolist(), pre.tolist()), gains[0], gains[-1],
                quotes_find(matrix, cell, metric.name, base, label))
