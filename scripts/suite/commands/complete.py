# SPDX-License-Identifier: MIT
"""`uncork complete LINE`: candidates for the end of a command line, for the completion of shells
(scripts/completion). It prints one candidate a line: the candidate, a tab, its meaning.

A user waits for it at each key press. So it imports no package outside Python's own, and starts the
client only for words.
"""

import argparse
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from suite.base import ROOT, client
from suite.base.errors import UncorkError
from suite.base.lab_words import LINK_WORDS, SYSCTL_WORD
from suite.base.runner_words import ARM, LOAD, NOT_LOADED, OVERRIDE, SUBJECT
from suite.commands import COMMANDS, parser_make
from suite.result.record import ENDS

Candidates = Iterable[tuple[str, str]]  # each with its meaning


def line_split(line: str) -> list[str]:
    """The words of a line, split as by the shell. The last may be empty; a quote may be open."""
    for closed in (line, f'{line}"', f"{line}'"):
        try:
            return [*shlex.split(closed), *([""] if line[-1:].isspace() or not line else [])]
        except ValueError:
            continue
    return [line]


def named(names: Iterable[str]) -> Candidates:
    return [(name, "") for name in names]


class Line:
    """A command line of uncork while it is typed. last: the word at the cursor; before: the words
    between the command and last."""

    def __init__(self, command: str, before: Sequence[str], last: str) -> None:
        self.command, self.before, self.last = command, before, last

    @cached_property
    def vocabulary(self) -> client.Vocabulary:
        """The words that the client lists; empty if there is no client."""
        try:
            return client.client_list(client.client_place())
        except (OSError, UncorkError):
            return client.Vocabulary({}, {})

    @property
    def changes(self) -> Candidates:
        """The values of override=."""
        return [(f"{one['name']}:" if one["takes"] else one["name"], one["help"])
                for one in self.vocabulary.document.get("changes", ())]

    @cached_property
    def scenario(self) -> Mapping[str, Any]:
        import tomllib
        files = [client.scenario_path(text) for text in self.before
                 if text in client.scenario_names() or text.endswith(".toml")]
        return tomllib.loads(files[0].read_text()) if files else {}

    @cached_property
    def subjects(self) -> Mapping[str, Any]:
        from suite.scenario.subject import programs_read
        return programs_read()

    @cached_property
    def parameters(self) -> dict[str, str]:
        """The parameters of the subjects and loads in the line, with their defaults."""
        names = ",".join(text.partition("=")[2] for text in self.before
                         if text.startswith((f"{SUBJECT}=", f"{LOAD}=")))
        return {f"{name}.{key}": value for name in names.split(",") if name in self.subjects
                for key, value in self.subjects[name].defaults.items()} if names else {}

    @cached_property
    def cells(self) -> list[Mapping[str, str]]:
        from suite.result.files import PLAN, result_find
        folders = [result_find(Path(text)) for text in self.before if "=" not in text]
        return [cell["words"] for folder in folders
                for cell in json.loads((folder / PLAN).read_text())["cells"]]

    @property
    def axes(self) -> list[str]:
        return [key for key in dict.fromkeys(chain.from_iterable(self.cells))
                if len({cell.get(key) for cell in self.cells}) > 1]

    def results(self) -> Candidates:
        from suite.result.files import PLAN, reference_names, results_folder
        found = sorted((path.parent for path in results_folder().glob(f"*/{PLAN}")),
                       key=lambda path: path.stat().st_mtime, reverse=True)
        return named([*(path.name for path in found), *reference_names()])

    def words_offered(self) -> Candidates:
        """`key=` of the words of a run, without those that the line has already."""
        given = {text.partition("=")[0] for text in self.before} - {"not"}
        end, dot, _ = self.last.rpartition(".")
        words = {key: word["help"] for key, word in self.vocabulary.words.items()
                 if not dot or (word["ends"] and end in ENDS)}
        arms = {ARM: "words of the scenario, by name"} if self.scenario.get(ARM) else {}
        parameters = {key: f"of {key.partition('.')[0]}, {value} by default"
                      for key, value in self.parameters.items()}
        offered = parameters | {f"{end}.{key}": means for key, means in words.items()} if dot else (
            arms | parameters | words)
        return [(f"{key}=", means) for key, means in offered.items() if key not in given]

    def values(self, key: str) -> Candidates:
        if key == ARM:
            return named(arm["name"] for arm in self.scenario.get(ARM, ()))
        if key in (SUBJECT, LOAD):
            own = [("own", "uncork-server")] if key == SUBJECT else []
            return own + [(name, one.says) for name, one in self.subjects.items()
                          if one.kind == key]
        if key in self.parameters:
            return named([self.parameters[key]])
        word = self.vocabulary.words.get(key.rpartition(".")[2])
        if word is None:
            return ()
        if key == OVERRIDE:
            return [(NOT_LOADED, "not loaded"), *self.changes]
        here = (self.scenario.get("fixed", {}) | self.scenario.get("sweep", {})).get(key, [])
        names = [*map(str, here if isinstance(here, list) else [here]),
                 *word.get("choices", ()), *word.get("names", ()), word["default"] or ""]
        variants = self.vocabulary.variants(word)
        found = [(name, variants.get(name, {})) for name in dict.fromkeys(names) if name]
        return [(f"{name}:" if one.get("takes") else re.sub(":[A-Z]+$", ":", name),
                 one.get("help", "")) for name, one in found]

    @cached_property
    def metrics(self) -> Candidates:
        from suite.observe.metrics import METRICS
        return [(name, metric.means) for name, metric in METRICS.items()]

    def values_own(self, of: str) -> Candidates:
        """The values of a word of the command itself. of: what kind of names they are."""
        from suite.scenario.scenario import HISTOGRAMS, PICTURES, SIZES
        return {"metrics": self.metrics, "pictures": named(PICTURES),
                "histograms": named(HISTOGRAMS), "axes": named(self.axes), "sizes": named(SIZES),
                "shown": named(("yes", "no")), "all": [("all", "every row")]}.get(of, ())

    def value_candidates(self, own: Mapping[str, str] = {}, of_result: bool = False) -> Candidates:
        """Candidates for the last word, `key=value`, where value may be a list. own: words of the
        command itself; of_result: whether the words select cells of a result."""
        key, _, value = self.last.partition("=")
        if not of_result and self.vocabulary.words.get(key, {}).get("kind") == "words":
            inner = Line(self.command, self.before, value)
            return [(f"{key}={name}", means) for name, means in (
                inner.value_candidates() if "=" in value else inner.words_offered())]
        head, comma, _ = value.rpartition(",")
        found: Candidates
        if key in own:
            found = chain(self.values_own(own[key]),
                          [("off", "none")] if key in ("gain", "best") else ())
        elif of_result:
            found = named(dict.fromkeys(cell[key] for cell in self.cells if key in cell))
        else:
            found = self.values(key)
        given = head.split(",")
        return [(f"{key}={head}{comma}{name}", means) for name, means in found if name not in given]

    def candidates(self) -> Candidates:
        """All candidates for the last word; the caller drops those that begin otherwise."""
        parser, parts = parser_make(self.command), COMMANDS[self.command].parts
        if parts and self.before:
            [part] = parser._get_positional_actions()
            parser, parts = dict(part.choices or ())[self.before[0]], {}
            self.before = self.before[1:]
        options = parser._option_string_actions
        takers = {name for name, action in options.items() if action.nargs != 0}
        if self.before and self.before[-1] in takers:  # the shell completes files
            return named(map(str, options[self.before[-1]].choices or ()))
        if self.last.startswith("-"):
            return [(name, str(action.help) % ()) for name, action in options.items()]
        if parts:
            return [(part, text) for part, (_, text) in parts.items()]
        self.before = [text for left, text in pairwise(["", *self.before])
                       if text not in options and left not in takers]
        return self.place_candidates(parser._get_positional_actions())

    def place_candidates(self, places: Sequence[argparse.Action]) -> Candidates:
        """Candidates for a positional argument, whose metavar says what it takes. places: all
        positional arguments of the command."""
        place = min(len(self.before), len(places) - 1)
        takes = set(re.findall(r"[\w=]+", str(places[place].metavar)))
        own, of_result = COMMANDS[self.command].own, places[0].dest == "results"
        if "=" in self.last and ("WORD=VALUE" in takes or of_result and "WORD" in takes):
            return self.value_candidates(own, of_result)
        if any("=" not in text for text in self.before[place:]):
            takes -= {"SCENARIO", "RESULT", "override=CHANGE"}
        sources: Mapping[str, Callable[[], Candidates]] = {
            "SCENARIO": lambda: [(name, "scenario") for name in client.scenario_names()],
            "RESULT": self.results,
            "RESULTS": self.results,
            "WORD": self.selectors if of_result else self.names,
            "WORD=VALUE": self.lab_words if self.command == "lab" else self.words_offered,
            "ID": lambda: named(client.claim_names()),
            "all": lambda: [("all", "every claim")],
            "NAME": self.targets,
            "override=CHANGE": lambda: [(f"{OVERRIDE}={name}", means)
                                        for name, means in self.changes if self.last],
        }
        return chain.from_iterable(
            source() for taken, source in sources.items() if taken in takes)

    def selectors(self) -> Candidates:
        """The words of a command that reads results: its own, and those that select cells."""
        own = [(f"{key}=", "of this command") for key in COMMANDS[self.command].own]
        return chain(own, named(f"{key}=" for key in self.axes))

    def targets(self) -> Candidates:
        """What `uncork setup` installs."""
        table = (ROOT / "scripts/setup/targets").read_text()
        return named([*re.findall("^[a-z]+", table, re.MULTILINE), *self.subjects])

    def lab_words(self) -> Candidates:
        return [(f"{key}=", self.vocabulary.words[key]["help"])
                for key in (*LINK_WORDS, SYSCTL_WORD) if key in self.vocabulary.words]

    def names(self) -> Candidates:
        """What `uncork list` explains."""
        words = [(key, word["help"]) for key, word in self.vocabulary.words.items()]
        values = [(one["name"], one["help"]) for variants in
                  self.vocabulary.document.get("variants", {}).values() for one in variants]
        return dict(chain(words, values, self.metrics,
                          ((name, "scenario") for name in client.scenario_names()))).items()


def program_candidates(program: str, before: Sequence[str], last: str) -> Candidates:
    line = Line("run", before, last)
    options = line.vocabulary.document.get("options", {}).get(program, ())
    if last.startswith("-"):
        return [(one["name"], one["help"]) for one in options]
    takers = [one["name"] for one in options if one["value"].strip()[:1].isupper()]
    if program == "uncork-server" or (before and before[-1] in takers):
        return ()
    if "=" in last:
        return line.value_candidates()
    return [(key, means) for key, means in line.words_offered()
            if key[:-1] in line.parameters
            or line.vocabulary.words[key[:-1].rpartition(".")[2]]["scope"] == "cell"]


def candidates_of(line: str) -> list[tuple[str, str]]:
    program, *typed = line_split(line) or [""]
    *before, last = typed or [""]
    if Path(program).name in client.BINARIES:
        found = program_candidates(Path(program).name, before, last)
    elif not before or before == ["help"]:
        found = [(name, command.help) for name, command in COMMANDS.items()]
        found += [] if before else [(name, "") for name in ("help", "--help", "--version")]
    elif before[0] in COMMANDS:
        found = Line(before[0], before[1:], last).candidates()
    else:
        found = ()
    return [(name, means) for name, means in found if name.startswith(last)]


def main(options: argparse.Namespace) -> None:
    """Prints the candidates. It prints no error: the command itself reports what is wrong."""
    try:
        found = candidates_of(options.line)
    except (UncorkError, OSError, ValueError, KeyError):
        return
    for name, means in found:
        print(f"{name}\t{means}")
