# SPDX-License-Identifier: MIT
"""Comparisons as a document of tables, and in the formats of other tools: one line each here.

    document   tables, what stands above and below them
    wording    changes and verdicts as short texts
    records    lines and JSON for programs
    benchstat, hgrm, hyperfine    formats of other tools, a module with render(comparisons)
"""

from suite.base.text import Format

FORMATS = {
    "benchstat": Format("suite.present.comparison.benchstat",
                        "Go's benchmark format: benchstat -col /side FILE"),
    "hgrm": Format("suite.present.comparison.hgrm",
                   "latencies of both sides as HdrHistogram text", metrics=False),
    "hyperfine": Format("suite.present.comparison.hyperfine",
                        "times of fixed work in the shape of hyperfine's JSON", metrics=False),
}
