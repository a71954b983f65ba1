# SPDX-License-Identifier: MIT
"""argparse whose errors are one line like all others."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from suite.base.errors import UsageError, nearest_hint


class Parser(argparse.ArgumentParser):
    """argparse without abbreviations of options. An error is a UsageError that names the nearest
    option. formats: names of the options of formats, of all commands together."""

    formats: Callable[[], Iterable[str]] = tuple

    def __init__(self, **options: object) -> None:
        super().__init__(allow_abbrev=False, **options)  # type: ignore[arg-type]

    def print_help(self, file: Any = None) -> None:
        """Overrides the method of argparse, which from Python 3.12 on says nothing if it cannot
        write."""
        print(self.format_help(), end="", file=file, flush=True)

    def error(self, message: str) -> NoReturn:
        """Overrides the method of argparse, which prints the usage and exits."""
        unknown = re.match(r"unrecognized arguments: --([\w.-]+)(?:[= ](\S+))?", message)
        hint = ""
        if unknown:
            names = [name.removeprefix("--") for name in self._option_string_actions]
            near = nearest_hint(unknown[1], names)
            if unknown[1] in self.formats():
                mine = [name + (f" {'|'.join(action.choices)}" if action.choices else "")
                        for name, action in self._option_string_actions.items()
                        if action.dest in ("format", "json", "style")]
                hint = f": its formats: {', '.join(mine)}" if mine else (
                    ": it has one format only; uncork table has others")
            elif near.startswith(":"):  # else it is a list of all
                hint = near.replace("mean ", "mean --")
            elif any(action.dest == "words" for action in self._actions):
                # In Python 3.13 the argument after an unknown option is taken for a word.
                behind = dict(zip(sys.argv, sys.argv[1:], strict=False)).get(f"--{unknown[1]}", "-")
                value = unknown[2] or ("..." if behind.startswith("-") else behind)
                hint = f": a word has no dashes, {unknown[1]}={value}"
        raise UsageError(f"{message}{hint} (see {self.prog} --help)")
