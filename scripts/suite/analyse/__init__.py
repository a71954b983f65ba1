# SPDX-License-Identifier: MIT
"""From records to figures: metrics, frames, verdicts, gains, optima, comparisons, claims. Pure, but
for the cache. It imports base, stats, scenario and result; dataclasses and frames go in, and the
same come out. It never measures, and it never says how a figure looks."""
