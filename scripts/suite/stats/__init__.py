# SPDX-License-Identifier: MIT
"""Medians, intervals, ratios and tests without assumptions about the shape of a distribution. Pure.

It imports base for errors and bounds. It never knows a metric, a cell or a file.

Rounds are the independent unit: every function takes one value per round. Intervals are closed and
two-sided with a coverage of at least 95 %; their ends come from null distributions without ties, so
ties make them wider, never narrower. Where an interval inverts a test, p is that of the same test:
at most 5 % exactly where the interval excludes no change.
"""

import importlib
from typing import TYPE_CHECKING

from suite.base.units import Beyond

if TYPE_CHECKING:
    from suite.stats.estimate import *
    from suite.stats.nulls import *
    from suite.stats.power import *
    from suite.stats.shift import *
else:
    def __getattr__(name: str) -> object:
        """Imports the module of a name when the name is first used: numpy takes 0.1 s, and lists of
        names need none of it."""
        for module in ("estimate", "nulls", "shift", "power"):
            if name.startswith("_") or name == "histogram":  # a module without numpy
                break
            found = vars(importlib.import_module(f"{__name__}.{module}"))
            if name in found:
                return globals().setdefault(name, found[name])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
