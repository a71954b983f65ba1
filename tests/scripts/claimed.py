# SPDX-License-Identifier: MIT
"""Whether a command claims any change in a result."""

from __future__ import annotations

from dataclasses import replace

from simulated import METRIC
from suite.base.words import words_text
from suite.contrast.contrast import Verdict
from suite.decide.claims import claims_decide
from suite.decide.comparison.build import compare_baseline
from suite.decide.optimum import WORSE, optima_build
from suite.decide.summary import summary_build
from suite.observe.frame import Matrix
from suite.observe.metrics import METRICS
from suite.scenario.scenario import Claim


def by_table(matrix: Matrix) -> bool:
    """Whether the table calls some row changed."""
    summary = summary_build(matrix, (METRIC,))
    return Verdict.CHANGED in [found[METRIC].verdict for found in summary.figures.values()]


def by_compare(matrix: Matrix) -> bool:
    """Whether the comparison of the baseline with all else does."""
    return any(row.changes[METRIC].verdict is Verdict.CHANGED
               for one in compare_baseline(matrix, [METRICS[METRIC]]) for row in one.rows)


def by_best(matrix: Matrix) -> bool:
    """Whether best= calls some value worse than the best."""
    return any(WORSE in one.marks.values()
               for one in optima_build(matrix, "write", METRICS[METRIC]))


def by_check(matrix: Matrix) -> bool:
    """Whether a claim holds that some cell takes less, or more, than its baseline."""
    words = matrix.baseline
    claims = [Claim("", f"{METRIC}({words_text(cell.axes)}) {sign} "
                        f"{METRIC}({words_text(base.axes)})")
              for cell in matrix.cells.values() for sign in "<>"
              if (base := matrix.baseline_find(cell, words)) and base is not cell]
    scenario = replace(matrix.result.scenario, claims=tuple(claims))
    asked = replace(matrix, result=replace(matrix.result, scenario=scenario))
    return any(verdict.outcome == "ok" for verdict in claims_decide(asked))


COMMANDS = (by_table, by_compare, by_best, by_check)
