# SPDX-License-Identifier: MIT
"""The bench, and the control channel that it speaks, can be imported."""

from __future__ import annotations

import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP), str(TOP / "tests")]
