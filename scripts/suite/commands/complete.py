# SPDX-License-Identifier: MIT
"""`uncork complete LINE`: candidates for the end of a command line, for the completion of shells
(scripts/completion). It prints one candidate a line: the candidate, a tab, its meaning.

A user waits for it at each key press. So it imports no package outside Python's own, and starts the
client only for words.
"""

import argparse
import json
import pkgutil
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from suite.base import ROOT, client, grouped
from suite.base.errors import UncorkError
from suite.base.lab_words import LINK_WORDS, SYSCTL_WORD
from suite.base.runner_words import ARM, LOAD, OVERRIDE, SUBJECT
from suite.commands import COMMANDS, NAMED, NO_COMMANDS, parser_make
from suite.observe.metrics import METRICS
from suite.result.files import PLAN, reference_names, result_find, results_newest
from suite.result.record import ENDS
from suite.scenario.subject import programs_read

Candidates = dict[str, str]  # each with its meaning
Variant = Mapping[str, Any]  # a value as the client lists it
SETUP_TABLE = ROOT / "scripts/setup/targets"  # begins each line with what `setup` installs
ONCE = ("SCENARIO", "RESULT", "override=CHANGE")  # arguments that a command line has once


def line_split(line: str) -> list[str]:
    """The words of a line, split as by the shell. The last may be empty; a quote may be open."""
    for closed in (line, f'{line}"', f"{line}'"):
        try:
            return [*shlex.split(closed), *([""] if line[-1:].isspace() or not line else [])]
        except ValueError:
            continue
    return [line]


def named(names: Iterable[str], means: str = "") -> Candidates:
    return dict.fromkeys(names, means)


def typed(variants: Mapping[str, Variant]) -> Candidates:
    """Values as they are typed: one that takes an argument ends with a colon."""
    return {f"{name}:" if one.get("takes") else re.sub(":[A-Z]+$", ":", name): one.get("help", "")
            for name, one in variants.items()}


def premise_holds(premise: str, given: Mapping[str, Sequence[str]]) -> bool | None:
    """Whether a condition of the client, like `not workload=proxy or command`, holds for these
    values by key. None: the line does not say, or the condition is about more than one word."""
    found = re.fullmatch(r"(not )?(\w+)=((?:[\w-]+(?: or [\w-]+)*)?)", premise)
    if not found or found[2] not in given:
        return None
    holds = {not found[3] or (value in found[3].split(" or ") if value else None)
             for value in given[found[2]]}
    return None if len(holds) > 1 or None in holds else holds.pop() != bool(found[1])


class Line:
    """A command line while it is typed. before: the words behind the command, without options;
    last: the word at the cursor; own: the words of the command itself; reads_result: whether all
    other words select cells of a result."""

    def __init__(self, command: str, before: Sequence[str], last: str) -> None:
        self.command, self.before, self.last = command, before, last
        known = COMMANDS.get(command)
        self.own = known.own if known else {}
        self.reads_result = known is not None and "results" in known.arguments

    @cached_property
    def vocabulary(self) -> client.Vocabulary:
        """What the client lists, with the words of this command; empty if there is no client."""
        try:
            listed = client.client_list(client.client_place())
        except (OSError, UncorkError):
            return client.Vocabulary({}, {})
        keys = [*LINK_WORDS, SYSCTL_WORD] if self.command == "lab" else [
            key for key, word in listed.words.items()
            if word["scope"] == "cell" or self.command in COMMANDS]
        return client.Vocabulary(listed.document, {key: listed.words[key] for key in keys})

    @cached_property
    def scenario(self) -> Mapping[str, Any]:
        files = [client.scenario_path(text) for text in self.before
                 if text in client.scenario_names() or text.endswith(".toml")]
        return tomllib.loads(files[0].read_text()) if files else {}

    @cached_property
    def known(self) -> dict[str, tuple[str, Candidates]]:
        """The words that may stand here, each with its meaning and its values."""
        if self.reads_result:
            return {key: ("of this command", self.offered(*kinds.split()))
                    for key, kinds in self.own.items()} | {
                        key: ("", named(values)) for key, values in self.axes.items()}
        found = {ARM: ("words of the scenario, by name", named(arm["name"] for arm in arms))
                 } if (arms := self.scenario.get(ARM)) else {}
        programs = [name for text in self.before if text.startswith((f"{SUBJECT}=", f"{LOAD}="))
                    for name in text.partition("=")[2].split(",") if name in programs_read()]
        found |= {f"{name}.{key}": (f"{value} by default", named([value])) for name in programs
                  for key, value in programs_read()[name].defaults.items()}
        end, dot, _ = self.last.partition("=")[0].rpartition(".")
        return found | {f"{end}{dot}{key}": (word["help"], self.values(word))
                        for key, word in self.vocabulary.words.items()
                        if not dot or (word["ends"] and end in ENDS)}

    @property
    def axes(self) -> dict[str, list[str]]:
        """The words that vary in the results of the line, each with its values."""
        folders = [result_find(Path(text)) for text in self.before if "=" not in text]
        cells = [cell["words"] for folder in folders
                 for cell in json.loads((folder / PLAN).read_text())["cells"]]
        values = grouped(pair for cell in cells for pair in cell.items())
        return {key: found for key, found in values.items()
                if len({cell.get(key) for cell in cells}) > 1}

    def values(self, word: Mapping[str, Any]) -> Candidates:
        """The values of a word: those of the scenario first."""
        key = word["key"]
        here = (self.scenario.get("fixed", {}) | self.scenario.get("sweep", {})).get(key, [])
        names = [*map(str, here if isinstance(here, list) else [here]),
                 *word.get("choices", ()), *word.get("names", ()), word["default"] or ""]
        variants = self.changes if key == OVERRIDE else self.vocabulary.variants(word)
        if key in (SUBJECT, LOAD):
            variants = {name: {"help": one.says} for name, one in programs_read().items()
                        if one.kind == key}
        return typed({name: variants.get(name, {}) for name in (*names, *variants) if name})

    @property
    def changes(self) -> dict[str, Variant]:
        return {one["name"]: one for one in self.vocabulary.document.get("changes", ())}

    def words(self) -> Candidates:
        """`key=` of the known words, without those that the line has already or excludes, or
        `key=value`, where the value may be a list, or words."""
        key, equals, value = self.last.partition("=")
        if not equals:
            given = {*self.given} - {"not"}
            return {f"{key}=": means for key, (means, _) in self.known.items()
                    if key not in given and not self.excludes(key)}
        if not self.reads_result and self.vocabulary.words.get(key, {}).get("kind") == "words":
            inner = Line(self.command, self.before, value)
            return {f"{key}={name}": means for name, means in inner.words().items()}
        head, comma, _ = value.rpartition(",")
        return {f"{key}={head}{comma}{name}": means for name, means in self.known[key][1].items()
                if name not in head.split(",") and not self.excludes(key, name)}

    @property
    def given(self) -> dict[str, list[str]]:
        """The words of the line before the last, each with its values."""
        words = (text.partition("=") for text in self.before)
        return {key: value.split(",") for key, _, value in words}

    def excludes(self, key: str, value: str = "") -> bool:
        """Whether the words of the line exclude a word, or the word has no effect with them."""
        if self.reads_result or key not in self.vocabulary.words:
            return False
        line = self.given | {key: [value]}
        rows = [row["when"] for row in self.vocabulary.document.get("excludes", ())]
        return any(all(premise_holds(premise, line) for premise in when) for when in rows
                   if any(re.search(rf"\b{key}=", premise) for premise in when)) or any(
            premise_holds(premise, self.given) is False
            for premise in self.vocabulary.words[key].get("when", ()))

    def offered(self, *kinds: str) -> Candidates:
        """The names of these kinds: of an argument as help has it, or of a word of the command
        itself (`own` in commands.toml). What is no kind, in small letters, is a name."""
        of_kind: Mapping[str, Callable[[], Candidates]] = {
            "SCENARIO": lambda: named(client.scenario_names(), "scenario"),
            **dict.fromkeys(("RESULT", "RESULTS"), lambda: named(
                [*(folder.name for folder in results_newest()), *reference_names()])),
            "WORD": self.words if self.reads_result else self.explained,
            "WORD=VALUE": self.words,
            "ID": lambda: named(client.claim_names()),
            "NAME": lambda: named([*re.findall("^[a-z]+", SETUP_TABLE.read_text(), re.MULTILINE),
                                   *programs_read()]),
            "override=CHANGE": lambda: {f"{OVERRIDE}={name}": means for name, means
                                        in typed(self.changes).items() if self.last},
            "metrics": lambda: {name: metric.means for name, metric in METRICS.items()},
            "axes": lambda: named(self.axes),
        }
        found: Candidates = {}
        for kind in kinds:
            if kind in of_kind:
                found |= of_kind[kind]()
            elif kind in NAMED:
                found |= named(pkgutil.resolve_name(NAMED[kind]))
            elif kind.islower():
                found[kind] = ""
        return found

    def explained(self) -> Candidates:
        """What `uncork list` explains."""
        axes = self.vocabulary.document.get("variants", {}).values()
        return ({key: word["help"] for key, word in self.vocabulary.words.items()}
                | {one["name"]: one["help"] for variants in axes for one in variants}
                | self.offered("metrics", "SCENARIO"))


def command_candidates(command: str, before: Sequence[str], last: str) -> Candidates:
    """Candidates for an argument of a subcommand, which its parser knows."""
    parser = parser_make(command)
    if parts := COMMANDS[command].parts:
        if not before:
            return {part: one.help for part, one in parts.items()}
        parser = dict(parser._get_positional_actions()[0].choices or ())[before[0]]
        before = before[1:]
    options = parser._option_string_actions
    takers = {name for name, action in options.items() if action.nargs != 0}
    if before and before[-1] in takers:  # the shell completes files
        return named(map(str, options[before[-1]].choices or ()))
    if last.startswith("-"):
        return {name: str(action.help) % () for name, action in options.items()}
    before = [text for left, text in pairwise(["", *before])
              if text not in options and left not in takers]
    if not (places := parser._get_positional_actions()):
        return {}
    place = min(len(before), len(places) - 1)
    kinds = re.findall(r"[\w=]+", str(places[place].metavar))
    behind = any("=" not in text for text in before[place:])
    return Line(command, before, last).offered(
        *(kind for kind in kinds if not (behind and kind in ONCE)))


def program_candidates(program: str, before: Sequence[str], last: str) -> Candidates:
    """Candidates for an argument of uncork-client or uncork-server."""
    line = Line(program, before, last)
    options = line.vocabulary.document.get("options", {}).get(program, ())
    if last.startswith("-"):
        return {one["name"]: one["help"] for one in options}
    takers = [one["name"] for one in options if one["value"].strip()[:1].isupper()]
    if program == "uncork-server" or (before and before[-1] in takers):
        return {}
    return line.words()


def candidates_of(line: str) -> Candidates:
    program, *words = line_split(line) or [""]
    *before, last = words or [""]
    if Path(program).name in client.BINARIES:
        found = program_candidates(Path(program).name, before, last)
    elif not before or before == ["help"]:
        found = {name: command.help for name, command in COMMANDS.items()}
        found |= named(() if before else NO_COMMANDS)
    else:
        found = command_candidates(before[0], before[1:], last)
    return {name: means for name, means in found.items() if name.startswith(last)}


def uncork_complete(options: argparse.Namespace) -> None:
    """Prints the candidates. It prints no error: the command itself reports what is wrong."""
    try:
        found = candidates_of(options.line)
    except (UncorkError, OSError, ValueError, KeyError):
        return
    for name, means in found.items():
        print(f"{name}\t{means}")
