# SPDX-License-Identifier: MIT
"""Nonparametric statistics: medians, intervals, ratios and tests. Pure.

It imports base for errors and bounds. It knows no metric, no cell and no file.

Rounds are the independent unit: every function takes one value per round. Intervals are closed and
two-sided, with a coverage of at least 95 %. Their ends come from null distributions without ties,
so ties make an interval wider, never narrower. Where an interval inverts a test, p is of the same
test: p is at most 5 % exactly if the interval excludes "no change".
"""

import importlib
from typing import TYPE_CHECKING

from suite.base.units import Beyond

if TYPE_CHECKING:
    from suite.stats.dependence import *
    from suite.stats.estimate import *
    from suite.stats.nulls import *
    from suite.stats.power import *
    from suite.stats.ratio import *
    from suite.stats.shift import *
else:
    def __getattr__(name: str) -> object:
        """Imports the module of a name when the name is first used: the import of numpy takes
        0.1 s, and commands that only list names do not need it."""
        for module in ("estimate", "nulls", "dependence", "shift", "ratio", "power"):
            if name.startswith("_") or name == "histogram":  # a module without numpy
                break
            found = vars(importlib.import_module(f"{__name__}.{module}"))
            if name in found:
                return globals().setdefault(name, found[name])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
