# SPDX-License-Identifier: MIT
"""Comparisons as a document of tables, and in the formats of other tools: one line each here.

    document   tables, what stands above and below them;  texts: changes and verdicts as short texts
    records    lines and JSON for programs
    benchstat, hgrm, hyperfine    formats of other tools, a module with render(comparisons)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from suite.analyse.comparison.model import Comparison
from suite.present.comparison import benchstat, hgrm, hyperfine


@dataclass(frozen=True)
class Format:
    """render: from comparisons to text. means: for the help. metrics: whether it is of those that
    are asked for."""

    render: Callable[[Sequence[Comparison]], str]
    means: str
    metrics: bool = True


FORMATS = {
    "benchstat": Format(benchstat.render, "Go's benchmark format: benchstat -col /side FILE"),
    "hgrm": Format(hgrm.render, "latencies of both sides as HdrHistogram text", metrics=False),
    "hyperfine": Format(hyperfine.render, "times of fixed work in the shape of hyperfine's JSON",
                        metrics=False),
}
