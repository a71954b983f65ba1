# SPDX-License-Identifier: MIT
"""The subcommands of `uncork`: `uncork NAME` is an entry of commands.toml and a function
`uncork_NAME(options)`, or one for each part, which returns an exit status, or None for 0.

A module of commands may import every package; no module imports it. It is imported after its
arguments are parsed, so that help and errors in arguments do not wait for pandas. For the same
reason a function here imports what it alone needs.
"""

from __future__ import annotations

import argparse
import pkgutil
import re
import textwrap
import tomllib
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from suite.base.errors import UsageError, nearest_hint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TABLES = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))
EXIT: str = TABLES.pop("exit")
TEXTS: dict[str, str] = TABLES.pop("texts")
ENVIRONMENT: dict[str, str] = TABLES.pop("environment")
NO_COMMANDS = ("help", "--help", "--version")  # arguments in the place of a command
# What other modules have: choices of options, formats, and what a help text or a word names.
NAMED = {
    "of": "suite.scenario.scenario:HISTOGRAMS", "unit": "suite.present.comparison:HGRM_UNITS",
    "style": "suite.present.tables.mail:STYLES", "on": "suite.base.lab_words:LAB_HOSTS",
    "pictures": "suite.scenario.scenario:PICTURES", "sizes": "suite.scenario.scenario:SIZES",
    "quick_limits": "suite.measure.words:QUICK_LIMITS",
    "tables": "suite.present.tables:RENDERERS", "tools": "suite.present.comparison:FORMATS",
}


class Command(NamedTuple):
    """A table of commands.toml, which explains it."""

    help: str
    module: str = ""
    exit: str = ""
    examples: str = ""
    arguments: Mapping[str, Mapping[str, Any]] = {}
    parts: Mapping[str, Command] = {}
    takes: str = ""
    exclusive: Sequence[Sequence[str]] = ()
    formats: Sequence[str] = ()
    own: Mapping[str, str] = {}
    in_order: bool = False

    @property
    def exits(self) -> str:
        """All exit statuses."""
        return f"{EXIT}; {self.exit}" if self.exit else EXIT


def command_read(table: Mapping[str, Any]) -> Command:
    parts = {part: command_read(one) for part, one in table.get("parts", {}).items()}
    lines = {key: " ".join(table[key].split()) for key in ("help", "exit") if key in table}
    return Command(**{**table, **lines, "parts": parts})


COMMANDS = {name: command_read(table) for name, table in TABLES.items()}


class Parser(argparse.ArgumentParser):
    """argparse without abbreviations of options. An error is a UsageError, on one line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)
        self.register("type", "result", result_folder)

    def print_help(self, file: Any = None) -> None:
        """Overrides that of argparse, which from Python 3.12 on is silent if it cannot write."""
        print(self.format_help(), end="", file=file, flush=True)

    def error(self, message: str) -> NoReturn:
        """Overrides the method of argparse, which prints the usage and exits."""
        if unknown := re.match(r"unrecognized arguments: --([\w.-]+)", message):
            known = [name for name in self._option_string_actions if name.startswith("--")]
            near = nearest_hint(f"--{unknown[1]}", known)
            message += near
            if not near.startswith(":") and any(one.dest == "words" for one in self._actions):
                message += f"; a word has no dashes: {unknown[1]}=..."
        raise UsageError(f"{message} (see {self.prog} --help)")


def result_folder(text: str) -> Path:
    """The folder of a result. UsageError if text names none; pandas is not imported for that."""
    from suite.result.files import result_find
    path = Path(text)
    if "=" in text and not path.is_dir():
        raise UsageError(f'"{text}": the folder of a result comes first')
    return result_find(path)


class Texts(dict[str, str]):
    """TEXTS, and as text what NAMED has, which is imported when a help text names it."""

    def __missing__(self, name: str) -> str:
        found = pkgutil.resolve_name(NAMED[name])
        return found if isinstance(found, str) else ", ".join(found)


def arguments_add(parser: argparse.ArgumentParser, command: Command) -> None:
    """Adds the arguments of a command, or of a part of one."""
    groups: dict[str, Any] = {}
    for names in command.exclusive:
        groups |= dict.fromkeys(names, parser.add_mutually_exclusive_group())
    for names, given in command.arguments.items():
        text = " ".join(given["help"].format_map(Texts(TEXTS)).split())
        options = {**given, "help": text.replace("%", "%%")}  # % is a sign of argparse
        if options.get("nargs") == "*":
            options["default"] = []  # else argparse requires it
        if "choices" in options:
            options["choices"] = pkgutil.resolve_name(NAMED[options["choices"]])
        groups.get(names, parser).add_argument(*names.split(), **options)
    if command.formats:
        style = parser.add_mutually_exclusive_group()
        for name, one in chain.from_iterable(
                pkgutil.resolve_name(NAMED[kind]).items() for kind in command.formats):
            style.add_argument(f"--{name}", dest="format", action="store_const", const=name,
                               help=one.means)


def parser_make(name: str) -> Parser:
    command = COMMANDS[name]
    exits = "\n".join(textwrap.wrap(f"exit status: {command.exits}", 78))
    parser = Parser(prog=f"uncork {name}", description=command.help,
                    epilog=(f"\n{command.examples}\n" if command.examples else "") + exits,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(own=command.own)
    arguments_add(parser, command)
    if command.parts:
        parts = parser.add_subparsers(dest="part", metavar="|".join(command.parts), required=True)
        for part, one in command.parts.items():
            arguments_add(parts.add_parser(part, help=one.help, description=one.help,
                                           epilog=exits), one)
    return parser
