# SPDX-License-Identifier: MIT
"""The modules of the suite and of its tests can be imported."""

from __future__ import annotations

import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
for folder in (TOP / "scripts", TOP / "tests" / "scripts", TOP / "tests" / "scripts" / "data"):
    sys.path.insert(0, str(folder))
