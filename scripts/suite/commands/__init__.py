# SPDX-License-Identifier: MIT
"""The subcommands of `uncork`: each is an entry of commands.toml and a module with `main(options)`.
It returns an exit status, or None for 0.

A module of a command may import every package; no module imports it. It is imported after its
arguments are parsed, so that help and errors in arguments do not wait for pandas. For the same
reason a function here imports what it alone needs.
"""

from __future__ import annotations

import pkgutil
import tomllib
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from suite.base.parser import Parser
    from suite.base.text import Format

TABLES = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))
EXIT: str = TABLES.pop("exit")
TEXTS: dict[str, str] = TABLES.pop("texts")
ENVIRONMENT: dict[str, str] = TABLES.pop("environment")
NO_COMMANDS = ("help", "--help", "--version")  # arguments in the place of a command
# What other modules have: the choices of an option by its name, and what a help text or a word of a
# command names.
NAMED = {
    "of": "suite.scenario.scenario:HISTOGRAMS", "unit": "suite.present.hgrm:HGRM_UNITS",
    "style": "suite.present.tables.mail:STYLES", "on": "suite.base.lab_words:LAB_HOSTS",
    "pictures": "suite.scenario.scenario:PICTURES", "sizes": "suite.scenario.scenario:SIZES",
    "quick_limits": "suite.measure.words:QUICK_LIMITS",
}


def result_folder(text: str) -> Path:
    """The folder of a result. UsageError if text names none; pandas is not imported for that."""
    from suite.base.errors import UsageError
    from suite.result.files import result_find
    path = Path(text)
    if "=" in text and not path.is_dir():
        raise UsageError(f'"{text}": the folder of a result comes first')
    return result_find(path)


def formats_known(kind: str = "comparisons") -> Mapping[str, Format]:
    """The formats of tables, or of comparisons, which have those of other tools too."""
    from suite.present.comparison import FORMATS
    from suite.present.tables import RENDERERS
    return RENDERERS | FORMATS if kind == "comparisons" else RENDERERS


class Texts(dict[str, str]):
    """TEXTS, and as text what NAMED has, which is imported when a help text names it."""

    def __missing__(self, name: str) -> str:
        found = pkgutil.resolve_name(NAMED[name])
        return found if isinstance(found, str) else ", ".join(found)


def help_text(text: str) -> str:
    """A text of commands.toml for argparse, in which % is a sign of its own."""
    return " ".join(text.format_map(Texts(TEXTS)).split()).replace("%", "%%")


class Command(NamedTuple):
    """A table of commands.toml, which explains it. exit: the exit statuses of all commands too.
    parts: (arguments, help) of each."""

    help: str
    exit: str
    text: str
    own: Mapping[str, str]
    parts: Mapping[str, tuple[str, str]]
    in_order: bool


def command_read(table: Mapping[str, Any]) -> Command:
    exits = [EXIT, *([" ".join(table["exit"].split())] if "exit" in table else [])]
    parts = {part: (one.get("takes", ""), " ".join(one["help"].split()))
             for part, one in table.get("parts", {}).items()}
    return Command(table["help"], "; ".join(exits), table.get("examples", ""),
                   table.get("own", {}), parts, table.get("in_order", False))


COMMANDS = {name: command_read(table) for name, table in TABLES.items()}


def argument_read(name: str, typed: str) -> tuple[list[str], dict[str, Any]]:
    """The names of an argument for argparse, and what else argparse is to know. typed: as in
    commands.toml, like `-o, --output DIR` or `[WORD ...]`."""
    flags = [*takewhile(lambda word: word.startswith("-"), typed.split())]
    value = " ".join(typed.split()[len(flags):])
    optional, repeated = value.startswith("["), " ..." in value
    options: dict[str, Any] = {"metavar": value.strip("[]").removesuffix(" ...") or None}
    if flags:
        if name in NAMED:
            options["choices"] = pkgutil.resolve_name(NAMED[name])
        elif not value:
            options = {"action": "store_true"}
        elif repeated:
            options |= {"action": "append", "default": []}
        elif optional:
            options |= {"nargs": "?", "const": ""}
        return [flag.rstrip(",") for flag in flags], options
    if value.endswith("...") and not repeated:
        options = {"metavar": value.removesuffix("..."), "nargs": "..."}
    elif repeated:
        options |= {"nargs": "*", "default": []} if optional else {"nargs": "+"}
    elif optional:
        options["nargs"] = "?"
    elif value == "RESULTS":
        options["type"] = result_folder
    return [name], options


def arguments_add(parser: Any, table: Mapping[str, Any]) -> None:
    """Adds the arguments of a command, or of a part of one."""
    groups: dict[str, Any] = {}
    for names in table.get("exclusive", ()):
        groups |= dict.fromkeys(names, parser.add_mutually_exclusive_group())
    for name, (typed, text) in table.get("arguments", {}).items():
        flags, options = argument_read(name, typed)
        if name in table.get("default", {}):
            options["default"] = table["default"][name]
        if name in table.get("required", ()):
            options["required"] = True
        groups.get(name, parser).add_argument(*flags, help=help_text(text), **options)
    if "formats" in table:
        style = parser.add_mutually_exclusive_group()
        for name, one in formats_known(table["formats"]).items():
            style.add_argument(f"--{name}", dest="format", action="store_const", const=name,
                               help=one.means)


def parser_make(name: str) -> Parser:
    import argparse
    import textwrap

    from suite.base.parser import Parser
    command, table = COMMANDS[name], TABLES[name]
    exits = "\n".join(textwrap.wrap(f"exit status: {command.exit}", 78))
    parser = Parser(prog=f"uncork {name}", description=command.help,
                    epilog=(f"\n{command.text}\n" if command.text else "") + exits,
                    formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.formats = formats_known
    arguments_add(parser, table)
    if command.parts:
        parts = parser.add_subparsers(dest="part", metavar="|".join(command.parts), required=True)
        for part, (_, text) in command.parts.items():
            arguments_add(parts.add_parser(part, help=text, description=text, epilog=exits),
                          table["parts"][part])
    return parser
