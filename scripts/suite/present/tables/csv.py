# SPDX-License-Identifier: MIT
"""The records of a document as CSV, in base units and fractions (docs/record.md): numbers with ten
significant digits; None and an infinite number are empty."""

import numpy as np
import pandas as pd

from suite.present.tables.model import Document


def render(document: Document, width: int = 0) -> str:
    frame = pd.DataFrame(document.records(), columns=list(document.fields) or None)
    return frame.replace([np.inf, -np.inf], np.nan).to_csv(
        index=False, float_format="%.10g", lineterminator="\n")
