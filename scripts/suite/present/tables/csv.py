# SPDX-License-Identifier: MIT
"""The figures of a document as CSV: base units and fractions, one line each (docs/record.md)."""

from __future__ import annotations

import csv
import io
import math

from suite.present.tables.model import Document


def csv_number(value: float | None) -> str:
    """Ten significant digits; absent is empty, and so is what is only a direction."""
    return "" if value is None or not math.isfinite(value) else f"{value:.10g}"


def render(document: Document, width: int = 0) -> str:
    """One line for each record, under the heads; what a record has not is empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, document.heads, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(document.records())
    return out.getvalue()
