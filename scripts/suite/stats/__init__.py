# SPDX-License-Identifier: MIT
"""Medians, intervals, ratios and tests without assumptions about the shape of a distribution. Pure.

It imports base for errors and bounds. It never knows a metric, a cell or a file.

Rounds are the independent unit: every function takes one value per round. Intervals are closed and
two-sided with a coverage of at least 95 %; their ends come from null distributions without ties, so
ties make them wider, never narrower. Where an interval inverts a test, p is that of the same test:
at most 5 % exactly where the interval excludes no change.

    estimate   an interval and an estimate, and what is read off them
    centre     the median, its interval by order statistics, and which values are outliers
    nulls      the distributions of the signed-rank and of the Mann-Whitney statistic when nothing
               changed, and p of many cells at once
    shift      Hodges-Lehmann estimates of differences and ratios, paired by round or not
    direction  which of two is larger, where some values are only known to lie beyond a bound
    power      which change would have been found
    histogram  values in bins, merged; their quantiles
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from suite.base.units import Beyond

if TYPE_CHECKING:
    from suite.stats.centre import median, median_interval, outliers_mark, sign_test_rank
    from suite.stats.direction import Spans, direction_estimate, ratio_directed
    from suite.stats.estimate import (
        ALPHA,
        Estimate,
        Interval,
        estimate_floor,
        is_within_floor,
        relative_width,
    )
    from suite.stats.nulls import (
        ROUNDS_NEEDED,
        SIDES_NEEDED,
        benjamini_hochberg,
        mann_whitney_counts,
        mann_whitney_null,
        rounds_deciding,
        rows_decided,
        sign_null,
        signed_rank_counts,
        signed_rank_null,
    )
    from suite.stats.power import (
        PLANNED_CHANGE,
        PLANNED_POWER,
        ROUNDS_ADVISED,
        noise_measured,
        rounds_for_shift,
        rounds_planned,
        rounds_to_find,
        smallest_detectable,
    )
    from suite.stats.shift import geometric_mean, ratio_estimate, shift_estimate
else:
    def __getattr__(name: str) -> object:
        """Imports the module of a name of __all__ when the name is first used: numpy takes 0.1 s,
        and lists of names need none of it."""
        for module in ("estimate", "centre", "nulls", "shift", "direction", "power"):
            if name not in __all__:
                break
            found = vars(importlib.import_module(f"{__name__}.{module}"))
            if name in found:
                return globals().setdefault(name, found[name])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

__all__ = [
    "ALPHA", "PLANNED_CHANGE", "PLANNED_POWER", "ROUNDS_ADVISED", "ROUNDS_NEEDED", "SIDES_NEEDED",
    "Beyond", "Estimate", "Interval", "Spans",
    "benjamini_hochberg", "direction_estimate", "geometric_mean", "is_within_floor",
    "mann_whitney_counts", "mann_whitney_null", "median", "median_interval", "estimate_floor",
    "noise_measured", "outliers_mark", "ratio_directed", "ratio_estimate", "relative_width",
    "rounds_deciding", "rounds_for_shift", "rounds_planned", "rounds_to_find", "rows_decided",
    "shift_estimate",
    "sign_null", "sign_test_rank", "signed_rank_counts", "signed_rank_null",
    "smallest_detectable",
]
