# SPDX-License-Identifier: MIT
"""What uses contrasts: rows of tables, comparisons, gates, best values, answers, claims, replays.
Pure. It imports base, stats, scenario, result, observe and contrast. It never writes a sentence."""
