# SPDX-License-Identifier: MIT
"""From a scenario and words of the shell to a plan: which cells, in which order, how many rounds.

`uncork-client` says what a word means; this module decides which words go together. `not="a=1 b=2"`
leaves out the cells that match all of its words, as a scenario's `exclude` does. An arm, a named
set of words, overrides [fixed] and [sweep]; the shell must not contradict it.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from suite.base import grouped
from suite.base import runner_words as runner
from suite.base.by_hand import TIMER
from suite.base.client import (
    Checked,
    Client,
    LineRefused,
    Vocabulary,
    build_try,
    client_check,
    client_list,
)
from suite.base.errors import UsageError, nearest_hint
from suite.base.runner_words import ARM, RUN_WORDS, TARGET
from suite.base.words import words_split, words_text
from suite.measure.hyperfine import hyperfine_check
from suite.measure.words import Word, Words, quick_apply, words_collect, words_expand
from suite.places.lab import lab_refusal
from suite.places.targets import Targets
from suite.result.plan import Plan, PlannedCell, baseline_default, quick_text
from suite.scenario.scenario import Scenario
from suite.scenario.subject import is_parameter, subject_refusal

CELLS_MAX = 100_000
RUNS_MAX = 10_000_000  # months of runs: a typing error
Arms = Mapping[str, dict[str, str]]  # the words of each arm of a plan, by its name


@dataclass(frozen=True)
class Planned:
    plan: Plan
    scenario: Scenario
    notes: tuple[str, ...]
    vocabulary: Vocabulary


def values_of(words: Words, role: str) -> dict[str, tuple[str, ...]]:
    return {key: word.values for key, word in words.items() if word.role == role}


def is_left(word: Word, words: Words) -> bool:
    """Whether a word is of the scenario, and words of the shell may have made it useless."""
    return not word.typed and any(other.typed and other.role != "run" for other in words.values())


def selector_expand(client: Client, text: str, where: str) -> dict[str, tuple[str, ...]]:
    """`write=zerocopy message=64,128` as key -> values, in canonical spelling."""
    words = [Word(*pair, where=where) for pair in words_split(text.split(), where).items()]
    if not words:
        raise UsageError(f"{where}names no words (key=value, several in quotes)")
    return {word.key: word.values for word in words_expand(client, words)}


def selectors_check(client: Client, selectors: Sequence[tuple[str, str]]) -> None:
    """UsageError for the first (text, where) that the client refuses. One call checks all texts."""
    words = [Word(*pair, where=where) for text, where in selectors
             for pair in words_split(text.split(), where).items()]
    values = grouped((word.key, value) for word in words for value in word.text.split(","))
    try:
        words_expand(client, [Word(key, ",".join(dict.fromkeys(each)))
                              for key, each in values.items()])
    except UsageError:
        for word in words:
            words_expand(client, [word])


def selector_matches(selector: Mapping[str, tuple[str, ...]], words: Mapping[str, str]) -> bool:
    return all(words.get(key) in values for key, values in selector.items())


def arms_expand(client: Client, scenario: Scenario, path: Path | None, words: Words) -> Arms:
    """The arms that arm= names, in canonical spelling. UsageError for a word that no arm may have,
    or that the shell gives another value."""
    known = {arm.name: arm.words for arm in scenario.arms}
    arms: dict[str, dict[str, str]] = {}
    for name in words[ARM].values if ARM in words else ():
        if name not in known:
            hint = nearest_hint(name, known) or ": [[arm]] in a scenario makes one"
            raise UsageError(f"{words[ARM].where}arm={name}: there is no such arm{hint}")
        given = words_expand(client, [
            Word(key, text, where=f'{path}: [[arm]] "{name}": {key}: ')
            for key, text in known[name].items()])
        for word in given:
            if word.key in (*RUN_WORDS, ARM):
                raise UsageError(f"{word.where}an arm has words of cells only")
            if len(word.values) > 1:
                raise UsageError(f"{word.where}has several values: make an arm for each")
            for other in words.values():
                same = other.key.split(".")[-1] == word.key.split(".")[-1]
                if other.typed and same and (other.key, other.values) != (word.key, word.values):
                    raise UsageError(f"{other.argument} and arm={name} contradict each other: the "
                                     f"arm has {word.argument}")
        arms[name] = {word.key: word.values[0] for word in given}
    return arms


def rows_make(client: Client, words: Words, arms: Arms, excludes: Iterable[tuple[str, str]]
              ) -> list[dict[str, str]]:
    """The words of each combination of values, as given, if it matches no exclusion (text, where).
    An exclusion of the shell must match a row."""
    values = {key: word.values for key, word in words.items() if word.role != "run"}
    count = math.prod(map(len, values.values()))
    if count > CELLS_MAX:
        raise UsageError(f"{count} cells are too many: at most {CELLS_MAX}")
    given = (dict(zip(values, row, strict=True)) for row in itertools.product(*values.values()))
    rows = [row | arms.get(row.get(ARM, ""), {}) for row in given]
    for text, where in excludes:
        selector = selector_expand(client, text, where)
        missing = next((key for key in selector if key not in rows[0]), None)
        if missing is not None:
            raise UsageError(f"{where}{missing} is no word of this plan")
        kept = [row for row in rows if not selector_matches(selector, row)]
        if len(kept) == len(rows) and where.startswith("not="):
            raise UsageError(f"{where}leaves out no cell")
        if not kept:
            raise UsageError(f"{where}leaves no cell to run")
        rows = kept
    return rows


def rows_check(targets: Targets, rows: Sequence[dict[str, str]],
               path: Path | None) -> list[Checked]:
    """The answers for all rows, in order, each from the client of its build on its target. They
    have the words for the runner, and no addresses of ends that the runner starts."""
    for value in dict.fromkeys(map(runner.build_of, rows)):
        if value != runner.THIS:
            build_try(targets.local, value)
    targets.require(map(runner.target_of, rows))
    numbers_of = grouped((targets.target(row).client(row), number)
                         for number, row in enumerate(rows))
    addresses = [targets.target(row).planned_words(row) for row in rows]
    answers: dict[int, Checked] = {}
    for client, numbers in numbers_of.items():
        lines = [runner.line_for_client(rows[number], addresses[number]) for number in numbers]
        try:
            answers |= zip(numbers, client_check(client, lines), strict=True)
        except UsageError as error:
            named = words_text(runner.words_for_runner(rows[numbers[0]]))
            raise UsageError((f"{path}: " if path else "") + str(error)
                             + (f" ({named})" if named else "")) from None
    for number, row in enumerate(rows):
        answer, own, words = answers[number], addresses[number], runner.words_for_runner(row)
        hidden = own if runner.words_for_client(row) else runner.DEFAULT_WORD | own
        given = {key: value for key, value in answer.given.items() if key not in hidden}
        used = answer.words | {key: runner.OWN_ENDS[key] for key in own} | words
        reasons = (answer.unsupported, targets.target(row).unsupported(used), lab_refusal(used),
                   subject_refusal(used, runner.starts_from_here(used)))
        answers[number] = replace(answer, words=used, given=given | words,
                                  unsupported=next(filter(None, reasons), None))
    return [answers[number] for number in range(len(rows))]


def needed_text(client: Client, vocabulary: Vocabulary, row: Mapping[str, str], key: str) -> str:
    """`: it needs lab=on`: each word with which a cell of this row would use key; may be empty."""
    own = runner.words_for_client(row)
    others = [(other, value) for other, word in vocabulary.words.items()
              for value in word.get("choices", ())]
    while True:
        try:
            answers = client_check(client, [words_text(own | {other: value})
                                            for other, value in others])
            break
        except LineRefused as error:  # it contradicts another word of the row
            del others[error.number]
    found = [f"{other}={value}" for (other, value), answer in zip(others, answers, strict=True)
             if key not in answer.unused]
    return f": it needs {' or '.join(found)}" if found else ""


def unused_words_drop(client: Client, vocabulary: Vocabulary, rows: Sequence[dict[str, str]],
                      checked: Sequence[Checked], words: Words, arms: Arms
                      ) -> tuple[Words, list[str]]:
    """The words that some cell uses, and notes about those of the scenario that words of the shell
    make unused. UsageError for any other unused word. An arm may have unused parameters: the shell
    may have left out their program."""
    for name, given in arms.items():
        mine = [entry for row, entry in zip(rows, checked, strict=True) if row[ARM] == name]
        for key, value in given.items():
            if mine and not is_parameter(key) and all(key in entry.unused for entry in mine):
                raise UsageError(f"arm={name}: no cell of it uses {key}={value}")
    used, notes = dict(words), []
    for key, word in words.items():
        if not all(key in entry.unused for entry in checked):
            continue
        if not is_left(word, words):
            raise UsageError(f"{word.where}{word.argument}: no cell uses {key}"
                             f"{needed_text(client, vocabulary, rows[0], key)}")
        notes.append(f"{used.pop(key).where}no cell uses {key} with these words: left out")
    return used, notes


def cells_merge(rows: list[dict[str, str]], checked: list[Checked]) -> tuple[PlannedCell, ...]:
    """One cell for each different set of used words, in order, named by the words of the plan."""
    cells: dict[str, PlannedCell] = {}
    for row, entry in zip(rows, checked, strict=True):
        given = {key: entry.given[key] for key in (*row, *entry.given) if key in entry.given}
        name = words_text(given)
        # entry.words lacks a word of one end that has the value of the other end.
        cells.setdefault(name, PlannedCell(name, entry.words | given, given, False,
                                           entry.unsupported, entry.planned_s))
    return tuple(cells.values())


def baseline_choose(client: Client, cells: Sequence[PlannedCell], axes: Sequence[str],
                    words: Words) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The words of the baseline, and a note where no cell has those of the scenario."""
    default, notes = baseline_default(cells, axes), []
    if word := words.get("baseline"):
        where = word.where or "baseline: "
        selector = selector_expand(client, word.text, where)
        if any(selector_matches(selector, cell.words) for cell in cells):
            return selector, []
        if not is_left(word, words):
            raise UsageError(f'{where}no cell has the words "{word.text}"')
        notes = [f'{where}no cell has "{word.text}" with these words: it is "{default}" here']
    return selector_expand(client, default, "baseline: ") if default else {}, notes


def run_words_read(words: Words, vocabulary: Vocabulary) -> dict[str, Any]:
    """The words of the run: as given, else the default of the client."""
    given = values_of(words, "run")
    texts = {key: given[key][0] if key in given else vocabulary.words[key]["default"]
             for key in RUN_WORDS}
    return {key: int(text) if vocabulary.words[key]["kind"] == "count" else text
            for key, text in texts.items() if text is not None}


def scenario_as_run(scenario: Scenario, words: Words, plan: Plan, excludes: Iterable[str]
                    ) -> Scenario:
    """The plan as a scenario, with all that the shell changed, and without the targets of hosts=.
    Published figures get the fixed words that the shell changed: they hold for the others."""
    cells = {key: word for key, word in words.items() if key != TARGET or plan.hosts is None}
    fixed, timing = ({key: value for key, (value,) in values_of(cells, role).items()}
                     for role in ("fixed", "timing"))
    run = {key: str(value) for key, value in plan.run_words.items()
           if key != "timer" or key in words}
    changed = [f"{key}={value}" for key, value in scenario.fixed.items()
               if key in words and words[key].typed]
    return replace(
        scenario, fixed=fixed, sweep=values_of(cells, "sweep"), run=timing | run,
        exclude=tuple(dict.fromkeys(excludes)),
        published=tuple(replace(figure, words=" ".join([figure.words, *changed]).strip())
                        for figure in scenario.published))


def plan_make(targets: Targets, scenario: Scenario, path: Path | None, arguments: Sequence[str],
              quick: bool = False) -> Planned:
    """The plan for a scenario (path: its file) and words of the shell. The client of this machine
    says what words mean, each cell's target whether it is supported."""
    client = targets.local
    vocabulary = client_list(client)
    nots = [text.removeprefix("not=") for text in arguments if text.startswith("not=")]
    shell = words_split(text for text in arguments if not text.startswith("not="))
    words = words_collect(targets, vocabulary, scenario, path, shell)
    words, changes = quick_apply(words, vocabulary) if quick else (words, None)
    excludes = [(text, f'{path}: exclude "{text}": ') for text in scenario.exclude]
    excludes += [(text, f'not="{text}": ') for text in nots]
    arms = arms_expand(client, scenario, path, words)
    rows = rows_make(client, words, arms, excludes)
    checked = rows_check(targets, rows, path)
    words, notes = unused_words_drop(client, vocabulary, rows, checked, words, arms)
    cells = cells_merge(rows, checked)
    axes = tuple(key for key in values_of(words, "sweep")
                 if len({cell.given.get(key) for cell in cells}) > 1)
    selector, baseline_notes = baseline_choose(client, cells, axes, words)
    cells = tuple(replace(cell, baseline=selector_matches(selector, cell.words)) for cell in cells)
    notes += baseline_notes + ([f"--quick: {quick_text(changes)}"] if changes is not None else [])
    run = run_words_read(words, vocabulary)
    run["baseline"] = words_text({key: ",".join(values) for key, values in selector.items()})
    plan = Plan(scenario.name, axes, cells, changes, **run)
    if plan.timer == TIMER:
        hyperfine_check(cells)
    if len(cells) * plan.rounds_max > RUNS_MAX:
        raise UsageError(f"{len(cells)} cells in {plan.rounds_max} rounds are too many runs: "
                         f"at most {RUNS_MAX}")
    return Planned(plan, scenario_as_run(scenario, words, plan, [text for text, *_ in excludes]),
                   tuple(notes), vocabulary)
