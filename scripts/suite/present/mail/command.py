# SPDX-License-Identifier: MIT
"""The commands that measure the plan of a result again: words in, text out. Pure. Of a scenario
that ships it is the name and the words that are not as they stand there; else it is all words. In
the second case names of cells may order their words otherwise, and nothing else differs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from suite.base.client import claim_names, scenario_names, scenario_path
from suite.base.units import size_parse, size_text
from suite.present.mail.rules import COLUMNS
from suite.result.files import SCENARIO
from suite.result.plan import Plan, baseline_default
from suite.scenario.scenario import Scenario, scenario_load

if TYPE_CHECKING:  # help of `paste` names the styles and does not wait for pandas
    from suite.analyse.frame import Matrix

RUN_COMMAND = "uncork run"
INDENT = "  "
SEED_WORD = "seed"
RESULTS = "results"  # of the repository, where the commands put results of several sessions
RANGE_LEAST = 4  # values that are worth a range
FACTORS = {2: "", 4: ":4"}  # as the client reads ranges: 64..1M doubles, 64..1M:4 quadruples


def axis_text(values: Sequence[str]) -> str:
    """The values of an axis as they are typed: a range of sizes where they are one, else a list."""
    sizes = [size_parse(value) or 0.0 for value in values]
    if len(values) >= RANGE_LEAST and all(size and size_text(size) == value
                                          for size, value in zip(sizes, values, strict=True)):
        for factor, suffix in FACTORS.items():
            if all(two == one * factor for one, two in zip(sizes, sizes[1:], strict=False)):
                return f"{values[0]}..{values[-1]}{suffix}"
    return ",".join(values)


def typed_words(scenario: Scenario) -> dict[str, str]:
    """All words of a scenario as they are typed, those of cells before those of the run."""
    sweep = {key: axis_text(values) for key, values in scenario.sweep.items()}
    return {**scenario.fixed, **sweep, **scenario.run}


def is_of(shipped: Scenario, run: Scenario) -> bool:
    """Whether words can make the one that ran from the one that ships: they take nothing away."""
    axes = [key for key in run.sweep if key in shipped.sweep]
    return (typed_words(shipped).keys() <= typed_words(run).keys()
            and set(shipped.exclude) <= set(run.exclude)
            and shipped.arms == run.arms and axes == [key for key in shipped.sweep if key in axes])


def command_words(scenario: Scenario, plan: Plan, shipped: Scenario | None) -> list[str]:
    """The words after `run`. shipped: the scenario of the same name in scenarios/, if any."""
    if shipped is not None and not is_of(shipped, scenario):
        shipped = None
    wanted = typed_words(scenario) | {"rounds": str(plan.rounds), SEED_WORD: str(plan.seed)}
    known = typed_words(shipped) if shipped else {}
    if "baseline" not in known and wanted.get("baseline") == baseline_default(
            plan.cells, plan.axes):
        del wanted["baseline"]
    words = [f"{key}={value}" for key, value in wanted.items() if known.get(key) != value]
    left_out = [text for text in scenario.exclude if shipped is None or text not in shipped.exclude]
    return [*([shipped.name] if shipped else []), *words, *(f"not={text}" for text in left_out)]


def commands_join(results: Sequence[Sequence[Sequence[str]]]) -> list[tuple[str, ...]]:
    """All commands of each result; of two that differ in the seed only one command, without it."""
    bare = {tuple(word for word in words if not word.startswith(f"{SEED_WORD}="))
            for commands in results for words in commands}
    if len(bare) == 1 < len(results):
        return list(bare)
    return [tuple(words) for commands in results for words in commands]


def word_quoted(word: str) -> str:
    """A word as a shell takes it; blanks are in double quotes, which may span lines."""
    if re.search(r"\s", word) and not re.search(r'["$`\\!]', word):
        key, _, value = word.partition("=")
        return f'{key}="{value}"'
    return shlex.quote(word)


def word_pieces(word: str, width: int) -> list[str]:
    """A word as a shell takes it, in pieces of at most width characters, each quoted by itself. It
    is cut behind commas and blanks where that is possible."""
    whole = word_quoted(word)
    quote: Callable[[str], str] = str
    if whole.startswith("'"):  # a line within these quotes cannot be continued
        whole, quote = word, shlex.quote
    pieces = [""]
    for part in re.findall(r"[^, ]+[, ]?|[, ]", whole):
        if len(quote(pieces[-1] + part)) > width:
            pieces.append("")
        for letter in part:
            if len(quote(pieces[-1] + letter)) > width:
                pieces.append("")
            pieces[-1] += letter
    return [quote(piece) for piece in pieces if piece]


def command_lines(words: Sequence[str]) -> list[str]:
    """The command, wrapped with ` \\`; what is left of a long word stands at the left."""
    lines = [RUN_COMMAND]
    for word in words:
        quoted = word_quoted(word)
        if len(lines[-1]) + len(quoted) + 3 <= COLUMNS:  # a blank before it, and ` \\` after it
            lines[-1] += f" {quoted}"
        else:
            first, *rest = word_pieces(word, COLUMNS - len(INDENT) - 2)
            pieces = [f"{lines.pop()} ", INDENT + first, *rest]
            lines += [*(f"{piece}\\" for piece in pieces[:-1]), pieces[-1]]
    return lines


def commands_of(matrix: Matrix) -> list[list[str]]:
    """The words of each start of the runner that measure a result again, one for each session."""
    scenario, plan = matrix.result.scenario, matrix.result.plan
    ships = scenario.name in (*scenario_names(), *claim_names())
    shipped = scenario_load(scenario_path(scenario.name)) if ships else None
    if scenario.arms and not (shipped and is_of(shipped, scenario)):
        # no words of the shell can say what an arm is
        words = [f"{matrix.result.folder.name}/{SCENARIO}"]
    else:
        words = command_words(scenario, plan, shipped)
    if len(plan.sessions) == 1:
        return [words]
    folder = ["-o", f"{RESULTS}/{matrix.result.name}"]
    return [[*words, *folder], *[["--more", *folder] for _ in plan.sessions[1:]]]
