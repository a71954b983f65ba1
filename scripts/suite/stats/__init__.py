# SPDX-License-Identifier: MIT
"""Nonparametric statistics: medians, intervals, ratios and tests. Pure.

It imports base for errors and bounds. It knows no metric, no cell and no file.

Rounds are the independent unit: every function takes one value per round. Intervals are closed and
two-sided, with a coverage of at least 95 %. Their ends come from null distributions without ties,
so ties make an interval wider, never narrower. Where an interval inverts a test, p is of the same
test: p is at most 5 % exactly if the interval excludes "no change".
"""

from suite.base.units import Beyond
from suite.stats.estimate import *
from suite.stats.nulls import *
from suite.stats.power import *
from suite.stats.ratio import *
from suite.stats.shift import *
