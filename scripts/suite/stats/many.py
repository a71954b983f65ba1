# SPDX-License-Identifier: MIT
"""p of many cells at once: adjusted so that a limit on it holds for all of them together.

Reference: Benjamini and Hochberg (1995), "Controlling the false discovery rate": of what is claimed
at most a share is chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def benjamini_hochberg(ps: Sequence[float]) -> list[float]:
    """The adjusted p in the given order: the smallest p_(j) m / j of all ranks j from its own on,
    at most 1."""
    array = np.asarray(ps, dtype=float)
    order = np.argsort(array, kind="stable")
    scaled = array[order] * len(array) / np.arange(1, len(array) + 1)
    adjusted = np.empty(len(array))
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return adjusted.tolist()
