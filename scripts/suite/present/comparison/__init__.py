# SPDX-License-Identifier: MIT
"""Comparisons as a document, and in formats of other tools: each is one file and one line here."""

from suite.base.text import Format

FORMATS = {
    "benchstat": Format("suite.present.comparison.benchstat",
                        "Go's benchmark format: benchstat -col /side FILE"),
    "hgrm": Format("suite.present.comparison.hgrm",
                   "latencies of both sides as HdrHistogram text", metrics=False),
    "hyperfine": Format("suite.present.comparison.hyperfine",
                        "times of fixed work in the shape of hyperfine's JSON", metrics=False),
}
