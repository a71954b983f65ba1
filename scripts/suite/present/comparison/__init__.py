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
HGRM_UNITS = {"ns": (1, 3), "us": (10**3, 3), "ms": (10**6, 6), "s": (10**9, 9)}  # ns, decimals
