# SPDX-License-Identifier: MIT
"""The subcommands of `uncork`: one module each, one line each.

They import every room, and nothing imports them, not even one another.

A module has `HELP: str`, `arguments(parser)`, `main(options) -> int`, and `parse(parser, rest)`
where flags may not stand in any order. It is imported only when
it is asked for, so that `uncork run` does not wait for pandas.
"""

from __future__ import annotations

import importlib
from types import ModuleType

COMMANDS = (
    "run",
    "list",
    "table",
    "compare",
    "show",
    "check",
    "plot",
    "report",
    "paste",
    "verify",
    "export",
    "lab",
    "doctor",
)


def command_load(name: str) -> ModuleType:
    """The module of one subcommand; name is one of COMMANDS."""
    return importlib.import_module(f"{__name__}.{name}")
