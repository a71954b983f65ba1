# SPDX-License-Identifier: MIT
"""What a comparison is written as: one line each, a module with render(comparisons).

Without one of these it is text for a terminal, text.render(comparisons, width).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from suite.analyse.comparison.model import Comparison
from suite.present.comparison import benchstat, csv, hgrm, hyperfine, json, markdown


@dataclass(frozen=True)
class Format:
    """render: from comparisons to text. means: for the help. metrics: whether it is of those that
    are asked for."""

    render: Callable[[Sequence[Comparison]], str]
    means: str
    metrics: bool = True


FORMATS = {
    "md": Format(markdown.render, "Markdown tables"),
    "csv": Format(csv.render, "base units and fractions, one line per metric and row"),
    "json": Format(json.render, "everything that is known"),
    "benchstat": Format(benchstat.render, "Go's benchmark format: benchstat -col /side FILE"),
    "hgrm": Format(hgrm.render, "latencies of both sides as HdrHistogram text", metrics=False),
    "hyperfine": Format(hyperfine.render, "times of fixed work in the shape of hyperfine's JSON",
                        metrics=False),
}
