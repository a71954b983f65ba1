# SPDX-License-Identifier: MIT
"""The commands that measure the plan of a result again: words in, text out. Pure.

If uncork ships the scenario, the command has its name and the words that differ from it. Otherwise
the command has all words; then the names of cells may have their words in another order.
"""

import os
import re
import shlex
from collections.abc import Sequence

from suite.present.mail.rules import COLUMNS
from suite.result.plan import Plan, baseline_default
from suite.scenario.scenario import Scenario

RUN_COMMAND = "uncork run"
INDENT = "  "
RESULTS = "results"  # the folder of the repository for results of several sessions


def typed_words(scenario: Scenario) -> dict[str, str]:
    """All words of a scenario as they are typed: first those of cells, then those of the run."""
    sweep = {key: ",".join(values) for key, values in scenario.sweep.items()}
    return {**scenario.fixed, **sweep, **scenario.run}


def is_derivable(shipped: Scenario, run: Scenario) -> bool:
    """Whether the shipped scenario and further words make the one that ran: words only add."""
    axes = [key for key in run.sweep if key in shipped.sweep]
    return (typed_words(shipped).keys() <= typed_words(run).keys()
            and set(shipped.exclude) <= set(run.exclude)
            and shipped.arms == run.arms and axes == [key for key in shipped.sweep if key in axes])


def command_words(scenario: Scenario, plan: Plan, shipped: Scenario | None) -> list[str]:
    """The words after `uncork run`. shipped: the scenario of this name in scenarios/, if any."""
    if shipped is not None and not is_derivable(shipped, scenario):
        shipped = None
    wanted = typed_words(scenario) | {"rounds": str(plan.rounds), "seed": str(plan.seed)}
    known = typed_words(shipped) if shipped else {}
    if "baseline" not in known and wanted.get("baseline") == baseline_default(
            plan.cells, plan.axes):
        del wanted["baseline"]
    words = [f"{key}={value}" for key, value in wanted.items() if known.get(key) != value]
    left_out = [text for text in scenario.exclude if shipped is None or text not in shipped.exclude]
    return [*([shipped.name] if shipped else []), *words, *(f"not={text}" for text in left_out)]


def word_quoted(word: str) -> str:
    """A word quoted for a shell. A path that is not UTF-8 has escapes, which bash and zsh read."""
    if re.search("[\udc80-\udcff]", word):
        data = os.fsencode(word.replace("\\", r"\\").replace("'", r"\'"))
        return f"$'{data.decode(errors='backslashreplace')}'"
    return shlex.quote(word)


def word_pieces(word: str, width: int) -> list[str]:
    """A word in pieces of at most width characters, each quoted for a shell: a backslash does not
    continue a line within quotes. It is cut after commas and blanks if possible."""
    pieces = [""]
    for part in re.findall(r"[^, ]+[, ]?|[, ]", word):
        if len(word_quoted(pieces[-1] + part)) > width:
            pieces.append("")
        for letter in part:
            if len(word_quoted(pieces[-1] + letter)) > width:
                pieces.append("")
            pieces[-1] += letter
    return [word_quoted(piece) for piece in pieces if piece]


def command_lines(words: Sequence[str]) -> list[str]:
    """The command, wrapped with ` \\`. The rest of a word longer than a line is not indented."""
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
