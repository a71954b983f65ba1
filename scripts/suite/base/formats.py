# SPDX-License-Identifier: MIT
"""A format that a command can print: help names it without importing the module that writes it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple


class Format(NamedTuple):
    """module: has render(), which gives the text. means: for the help. metrics: whether it shows
    the metrics that are asked for; else it always shows the same."""

    module: str
    means: str
    metrics: bool = True

    @property
    def render(self) -> Callable[..., str]:
        """The function of the module, which is imported now."""
        render: Callable[..., str] = importlib.import_module(self.module).render
        return render
