# SPDX-License-Identifier: MIT
"""The data of a document as one JSON object, in base units (docs/record.md)."""

import json

from suite.present.tables.model import Document


def render(document: Document, width: int = 0) -> str:
    return json.dumps(document.data(), indent=1, ensure_ascii=False) + "\n"
