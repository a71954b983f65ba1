# SPDX-License-Identifier: MIT
"""The figures of a document as CSV: base units and fractions, one line each (docs/record.md)."""

import csv
import io
import math

from suite.present.tables.model import Document


def csv_text(value: str | float | None) -> str:
    """Text, or ten significant digits; what is absent or only a direction is empty."""
    if isinstance(value, str):
        return value
    return "" if value is None or not math.isfinite(value) else f"{value:.10g}"


def render(document: Document, width: int = 0) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, document.heads, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_text(value) for name, value in record.items()}
                     for record in document.records())
    return out.getvalue()
