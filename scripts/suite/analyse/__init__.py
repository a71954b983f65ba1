# SPDX-License-Identifier: MIT
"""From records to figures: metrics, frames, verdicts, gains, optima, comparisons, claims. Pure, but
for the cache: functions take and return dataclasses and frames. It imports base, stats, scenario
and result. It never measures, and never decides how a figure looks."""
