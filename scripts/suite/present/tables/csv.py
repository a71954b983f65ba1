# SPDX-License-Identifier: MIT
"""The records of a document as CSV, in base units and fractions (docs/record.md)."""

import csv
import io
import math

from suite.present.tables.model import Document


def csv_text(value: str | float | None) -> str:
    """Text, or a number with ten significant digits; empty for None and for an infinite number."""
    if isinstance(value, str):
        return value
    return "" if value is None or not math.isfinite(value) else f"{value:.10g}"


def render(document: Document, width: int = 0) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, document.fields, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_text(value) for name, value in record.items()}
                     for record in document.records())
    return out.getvalue()
