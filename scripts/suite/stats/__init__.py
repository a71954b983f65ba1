# SPDX-License-Identifier: MIT
"""Nonparametric statistics: medians, intervals, ratios and tests. It imports base. Pure.

Rounds are the independent unit: every function takes one value per round. Intervals are closed and
two-sided, with a coverage of at least 95 %. Their ends come from null distributions without ties,
so ties make an interval wider, never narrower. Where an interval inverts a test, p is of that test.
"""

from suite.base.units import Beyond
from suite.stats.estimate import *
from suite.stats.nulls import *
from suite.stats.power import *
from suite.stats.ratio import *
from suite.stats.shift import *
