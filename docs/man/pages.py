# SPDX-License-Identifier: MIT
"""Writes the man pages: pages.py CLIENT FOLDER gives FOLDER/man1/uncork.1 and so on. It fills the
templates docs/man/*.in in from the lists of the programs. It needs Python 3.11 and no package."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "scripts"))

from suite.commands import COMMANDS, ENVIRONMENT, EXIT, parser_make  # noqa: E402
from suite.commands.list import SCENARIO_PARTS, bounds_text  # noqa: E402
from suite.decide.expressions import BEST_OF, COMPARISONS, OPERATORS  # noqa: E402
from suite.observe.metrics import METRICS  # noqa: E402
from suite.scenario.scenario import HISTOGRAMS, TOP, part_keys  # noqa: E402

TITLES = {"strategy": "Write strategies", "reading": "Values of read"}
Rows = Iterable[tuple[str, str]]


def escape(text: str) -> str:
    """Text as mdoc takes it: names are not hyphenated, and no line begins with a request."""
    text = re.sub(r"(?<!\S)(?=\S*[-_=.])", "\1", text)
    text = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq").replace("'", "\\(aq")
    return text.replace("\1", "\\%")


def argument(text: str) -> str:
    """An argument of a macro: one text, whatever is in it."""
    return f'"{escape(text)}"'


def sentence(text: str) -> str:
    """A text of a list as a sentence. A name at its beginning keeps its letters."""
    if re.match(r"[a-z]+(?:[ ,]|$)", text):
        text = text[:1].upper() + text[1:]
    return f"{escape(text)}{'' if text.endswith(('.', '?', ':')) else '.'}"


def listed(items: Iterable[tuple[str, Iterable[str]]]) -> str:
    """A tagged list: (the macros of the tag, the lines below it)."""
    return "\n".join([".Bl -tag -width Ds", *(line for tag, lines in items
                                              for line in (f".It {tag}", *lines)), ".El"])


def named(rows: Rows, macro: str = "Cm") -> str:
    """A tagged list of names and texts."""
    return listed((f"{macro} {argument(name)}", [sentence(text)]) for name, text in rows)


# ---- words of uncork-client ----


def word_lines(word: Mapping[str, Any]) -> list[str]:
    """What a word does, its values, its default, and whether ends may differ."""
    lines = [sentence(word["help"])]
    if "choices" in word:
        lines.append(f"One of {escape(', '.join(word['choices']))}.")
    elif bounds := bounds_text(word):
        lines.append(sentence(bounds))
    if word["default"] is not None:
        lines.append(f"Default: {escape(word['default'])}.")
    if word["ends"]:
        lines.append("Takes client., server. or proxy. before it.")
    return lines


def words_text(document: Mapping[str, Any], scope: str) -> str:
    """The words of a cell or of a run."""
    return listed((f"Cm {escape(word['key'])}", word_lines(word))
                  for word in document["words"] if word["scope"] == scope)


def variants_text(document: Mapping[str, Any]) -> str:
    """The values that have a text of their own, axis by axis."""
    parts = []
    for axis, variants in document["variants"].items():
        items = []
        for variant in variants:
            size = variant.get("parameter")
            more = [f"{escape(variant['name'])}:SIZE {escape(size)}."] if size else []
            takes = f":{variant['takes']}" if variant.get("takes") else ""
            items.append((f"Cm {argument(variant['name'] + takes)}",
                          [sentence(variant["help"]), *more]))
        parts += [f".Ss {TITLES.get(axis, f'Values of {axis}')}", listed(items)]
    return "\n".join(parts)


# ---- commands of uncork ----


def flags(action: argparse.Action, most: int | None = None) -> str:
    """An option as mdoc writes it: `Fl o , Fl -output Ar DIR`; most: how many of its names."""
    names = " , ".join(f"Fl {name[1:]}".replace("-", "\\-")
                       for name in action.option_strings[:most])
    if action.nargs == 0:
        return names
    return f"{names} Ar {argument(str(action.metavar or '|'.join(action.choices or ())))}"


def synopsis(name: str, actions: Iterable[argparse.Action]) -> list[str]:
    """One command with its options and arguments."""
    lines = [f".Ic uncork {name}"]
    for action in actions:
        if action.option_strings:
            lines.append(f".Op {flags(action, 1)}")
        else:
            metavar = argument(str(action.metavar))
            lines.append(f".{'Op ' if action.nargs in ('*', '?', '...') else ''}Ar {metavar}"
                         f"{' ...' if action.nargs in ('*', '+', '...') else ''}")
    return lines


def command_text(name: str) -> str:
    """A command: how it is typed, what it does, its arguments, options and own exit statuses."""
    command, parser = COMMANDS[name], parser_make(name)
    actions = [action for action in parser._actions if action.dest != "help"]
    items = [(flags(action) if action.option_strings else f"Ar {argument(str(action.metavar))}",
              [sentence(str(action.help) % ())]) for action in actions if action.help]
    parts = [f".Ss uncork {name}", *synopsis(name, actions), ".Pp",
             sentence(command.help[:1].upper() + command.help[1:])]
    parts += [listed(items)] if items else []
    if command.parts:
        parts += [named((f"{part} {one.takes}".strip(), one.help)
                        for part, one in command.parts.items())]
    example = command.examples.strip().split("\n\n")[-1].splitlines()
    for literal, grouped in groupby(example, lambda line: line.startswith("  ")):
        lines = list(grouped)
        parts += ([".Bd -literal", *map(escape, lines), ".Ed"] if literal else
                  [".Pp", sentence(" ".join(lines))])
    if command.own:
        parts += [".Pp", "Words of this command, which select no cells:",
                  ", ".join(f"{key}=" for key in command.own) + "."]
    if command.exit:
        parts += [".Pp", sentence(f"exit status: {command.exits}")]
    return "\n".join(parts)


# ---- keys of scenarios ----


def keys_text() -> str:
    """Every part of a scenario, and its keys."""
    parts = []
    for part in (TOP, *SCENARIO_PARTS):
        if part:
            parts += [f".Ss {part}", sentence(SCENARIO_PARTS[part])]
        keys = part_keys(part)
        parts += [listed((f"Cm {escape(key.name)}", [
            sentence(key.means),
            sentence(key.type + (", required" if key.default is None else
                                 f", default: {key.default}"))]) for key in keys)] if keys else []
    return "\n".join(parts)


def fillings(document: Mapping[str, Any]) -> dict[str, Callable[[], str]]:
    """What stands for each @NAME@ of the templates."""
    return {
        "VERSION": lambda: str(document["uncork"]),
        "WORDS": lambda: words_text(document, "cell"),
        "RUN_WORDS": lambda: words_text(document, "run"),
        "VALUES": lambda: variants_text(document),
        "COMMANDS": lambda: "\n".join(map(command_text, COMMANDS)),
        "EXIT": lambda: sentence(EXIT),
        "ENVIRONMENT": lambda: named(ENVIRONMENT.items(), "Ev"),
        "METRICS": lambda: named((metric.name, metric.means + (
            f"; unit {metric.unit}" if metric.unit != "1" else "")) for metric in METRICS.values()),
        "KEYS": keys_text,
        "COMPARISONS": lambda: escape(" ".join(COMPARISONS)),
        "OPERATORS": lambda: escape(" ".join(OPERATORS)),
        "BEST": lambda: BEST_OF,
        "HISTOGRAMS": lambda: escape(", ".join(HISTOGRAMS)),
    }


def main(client: str, folder: str) -> None:
    """Writes every page."""
    document = json.loads(subprocess.run([client, "--list=json"], capture_output=True,
                                         check=True).stdout)
    known = fillings(document)
    for template in sorted(HERE.glob("*.in")):
        text = re.sub(r"@([A-Z_]+)@", lambda found: known[found[1]](), template.read_text())
        page = Path(folder) / f"man{template.stem[-1]}" / template.stem
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
