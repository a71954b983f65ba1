# SPDX-License-Identifier: MIT
"""From a scenario and words of the shell to a plan: which cells, in which order, how many rounds.

What a word means is asked of `uncork-client`; here it is only decided which words go together.
Rules: a word of the shell replaces the scenario's; a list of values makes a word an axis (where it
stood, a new one last), a single value makes it fixed; `not="a=1 b=2"` leaves out the cells that
match all of its words (a scenario writes `exclude = ["a=1 b=2"]`).
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from suite import builds
from suite.client import (
    Checked, Client, Expanded, Vocabulary, build_client, client_check, client_expand, client_list,
)
from suite.errors import Failure, UsageError
from suite.hyperfine import work_check
from suite.lab.probe import lab_refusal
from suite.quick import Change, quick_text, words_quicken
from suite.scenario import Published, Scenario

CELLS_MAX = 100_000
RUNS_MAX = 10_000_000  # months of runs: a slip of the keyboard
UNTIL_TIMES = 10  # until= adds rounds up to so many times as many in a session
RUN_WORDS = ("rounds", "seed", "until", "baseline", "timer")  # what this runner acts on; the client lists them too


@dataclass(frozen=True)
class Cell:
    """One cell: `words` are all it uses, `given` those of the plan; both in canonical spelling."""

    name: str
    words: dict[str, str]
    given: dict[str, str]
    baseline: bool = False
    unsupported: str | None = None
    planned_s: float | None = None  # warm-up and measured time; None for fixed work


@dataclass(frozen=True)
class Plan:
    """What is to run. `scenario` is the plan as a scenario; seed is None until one is drawn.

    until: how narrow intervals have to be, `1%`; None: there are no more than `rounds`. quick: what --quick changed.
    """

    scenario: Scenario
    axes: tuple[str, ...]
    cells: tuple[Cell, ...]
    rounds: int
    seed: int | None
    baseline: str
    timer: str
    notes: tuple[str, ...] = ()
    until: str | None = None
    quick: Mapping[str, Change] | None = None

    @property
    def runnable(self) -> tuple[Cell, ...]:
        """The cells that this machine can run."""
        return tuple(cell for cell in self.cells if cell.unsupported is None)

    @property
    def rounds_most(self) -> int:
        """How many rounds a session has at most."""
        return rounds_most(self.rounds, self.until)


@dataclass(frozen=True)
class Word:
    """A word as given: `table` is fixed, sweep or run of the scenario, or shell."""

    key: str
    text: str
    table: str
    where: str

    @property
    def argument(self) -> str:
        """The word as the client takes it."""
        return f"{self.key}={self.text}"


@dataclass(frozen=True)
class Words:
    """All words of a plan, expanded: those of cells by role, those of the run as text."""

    fixed: dict[str, str] = field(default_factory=dict)
    sweep: dict[str, tuple[str, ...]] = field(default_factory=dict)
    timing: dict[str, str] = field(default_factory=dict)  # cell words that stood under [run]
    run: dict[str, str] = field(default_factory=dict)
    given: dict[str, Word] = field(default_factory=dict)

    @property
    def overridden(self) -> bool:
        """Whether words of the shell say anything about cells."""
        return any(word.table == "shell" for key, word in self.given.items()
                   if key not in RUN_WORDS)


def rounds_most(rounds: int, until: str | None) -> int:
    """How many rounds a session has at most."""
    return rounds if until is None else rounds * UNTIL_TIMES


def rounds_added(done: int, most: int) -> int:
    """How many rounds until= adds to so many at a time: a tenth, so that it looks a few dozen times at most."""
    return min(max(1, done // 10), most - done)


def word_split(text: str) -> tuple[str, str]:
    """`key=value` as a pair; UsageError where it is no word."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f'"{text}" is not a word: words are key=value')
    return key, value


def shell_split(arguments: Sequence[str]) -> tuple[list[Word], list[str]]:
    """Words of the shell, and the texts of its `not=`; a word given twice is refused."""
    words: dict[str, Word] = {}
    excludes = []
    for argument in arguments:
        key, value = word_split(argument)
        if key == "not":
            excludes.append(value)
        elif key in words:
            raise UsageError(f'{key} is given twice: "{words[key].argument}" and "{argument}"')
        else:
            words[key] = Word(key, value, "shell", "")
    return list(words.values()), excludes


def scenario_words(scenario: Scenario, path: Path | None) -> list[Word]:
    """The words of a scenario in order, each with the place to name in messages."""
    def where(table: str, key: str) -> str:
        return f"{path}: [{table}] {key}: " if path else ""
    words = [Word(k, v, "fixed", where("fixed", k)) for k, v in scenario.fixed.items()]
    words += [Word(k, ",".join(v), "sweep", where("sweep", k)) for k, v in scenario.sweep.items()]
    return words + [Word(k, v, "run", where("run", k)) for k, v in scenario.run.items()]


def words_merge(scenario: list[Word], shell: list[Word]) -> list[tuple[Word, str]]:
    """(word, table it belongs to): the shell's text in the scenario's place, new ones last."""
    by_key = {word.key: word for word in shell}
    merged = [(by_key.pop(word.key, word), word.table) for word in scenario]
    return merged + [(word, "shell") for word in by_key.values()]


def words_expand(client: Client, words: Sequence[Word]) -> list[Expanded]:
    """Lists and ranges written out; an error names the place of the word that caused it."""
    try:
        return client_expand(client, [word.argument for word in words])
    except UsageError:
        for word in words:
            try:
                client_expand(client, [word.argument])
            except UsageError as error:
                raise UsageError(f"{word.where}{error}") from None
        raise


def run_words_check(words: Sequence[tuple[Word, str]], vocabulary: Vocabulary) -> None:
    """Words of the run stand under [run] or in the shell, and this runner knows what to do."""
    for word, table in words:
        if word.key in vocabulary.run_words:
            if word.key == "not":
                raise UsageError(f'{word.where}a scenario writes exclude = ["..."] at its top')
            if word.key not in RUN_WORDS:
                raise Failure(f"{word.where}this runner does not know the word {word.key}")
            if table in ("fixed", "sweep"):
                raise UsageError(f"{word.where}{word.key} is of the run: it belongs under [run]")


def words_sort(expanded: Sequence[tuple[Word, str, Expanded]]) -> Words:
    """Every word of a cell in its role: one value is fixed, several are an axis."""
    result = Words()
    late: dict[str, tuple[str, ...]] = {}
    for word, table, entry in expanded:
        result.given[entry.key] = word
        if len(entry.values) > 1:
            if table in ("fixed", "run") and word.table != "shell":
                raise UsageError(f"{word.where}has several values: it belongs under [sweep]")
            (result.sweep if table == "sweep" else late)[entry.key] = entry.values
        elif table == "run":
            result.timing[entry.key] = entry.values[0]
        else:
            result.fixed[entry.key] = entry.values[0]
    result.sweep.update(late)
    return result


def words_collect(
    client: Client, vocabulary: Vocabulary, scenario: Scenario, path: Path | None,
    shell: list[Word],
) -> Words:
    """Scenario and shell together, expanded and in their roles."""
    merged = words_merge(scenario_words(scenario, path), shell)
    run_words_check(merged, vocabulary)
    asked = [(word, table) for word, table in merged if word.key != "baseline"]
    answers = words_expand(client, [word for word, _ in asked])
    expanded = [(word, table, entry) for (word, table), entry in zip(asked, answers, strict=True)]
    run: dict[str, str] = {}
    for word, _, entry in expanded:
        if entry.key in RUN_WORDS:
            if len(entry.values) != 1:
                raise UsageError(f"{word.where}{entry.key} takes one value")
            run[entry.key] = entry.values[0]
    words = words_sort([item for item in expanded if item[2].key not in RUN_WORDS])
    for word, _ in merged:
        if word.key in RUN_WORDS:
            words.given[word.key] = word
        if word.key == "baseline":
            run["baseline"] = word.text
    return replace(words, run=run)


def selector_expand(client: Client, text: str, where: str) -> dict[str, tuple[str, ...]]:
    """`write=zerocopy message=64,128` as key -> values; where begins the message of an error."""
    selector: dict[str, tuple[str, ...]] = {}
    words = [Word(*word_split(part), "shell", where) for part in text.split()]
    if not words:
        raise UsageError(f"{where}names no words (key=value, several in quotes)")
    for entry in words_expand(client, words):
        if entry.key in selector:
            raise UsageError(f"{where}{entry.key} is given twice")
        selector[entry.key] = entry.values
    return selector


def selector_matches(selector: dict[str, tuple[str, ...]], words: dict[str, str]) -> bool:
    """Whether words have one of the values for every key of the selector."""
    return all(words.get(key) in values for key, values in selector.items())


def combinations_make(words: Words) -> list[dict[str, str]]:
    """The product of all axes, the last varying fastest, as the words of each cell."""
    count = math.prod(len(values) for values in words.sweep.values())
    if count > CELLS_MAX:
        raise UsageError(f"{count} cells are too many: at most {CELLS_MAX}")
    rows = itertools.product(*words.sweep.values())
    return [words.fixed | dict(zip(words.sweep, row, strict=True)) | words.timing for row in rows]


def combinations_exclude(
    client: Client, rows: list[dict[str, str]], excludes: Iterable[tuple[str, str, bool]],
) -> list[dict[str, str]]:
    """Without the cells that an exclusion (text, where, must match) matches."""
    for text, where, strict in excludes:
        selector = selector_expand(client, text, where)
        missing = next((key for key in selector if key not in rows[0]), None)
        if missing is not None:
            raise UsageError(f"{where}{missing} is no word of this plan")
        kept = [row for row in rows if not selector_matches(selector, row)]
        if strict and len(kept) == len(rows):
            raise UsageError(f"{where}leaves out no cell")
        if not kept:
            raise UsageError(f"{where}leaves no cell to run")
        rows = kept
    return rows


def lines_check(client: Client, lines: Sequence[str], path: Path | None) -> list[Checked]:
    """What the client says of every line; an error names the scenario."""
    try:
        return client_check(client, lines)
    except UsageError as error:
        text = str(error)
        match = re.fullmatch(r"standard input:(\d+): (.*)", text)
        if match:
            text = match[2] + (f", as in {lines[int(match[1]) - 1]}" if len(lines) > 1 else "")
        raise UsageError(f"{path}: {text}" if path else text) from None


def rows_check(client: Client, rows: Sequence[dict[str, str]], path: Path | None) -> list[Checked]:
    """What the builds say of the rows, each of its own, in order."""
    answers: dict[int, Checked] = {}
    for value in dict.fromkeys(map(builds.build_of, rows)):
        mine = [number for number, row in enumerate(rows) if builds.build_of(row) == value]
        lines = [" ".join(f"{key}={text}" for key, text in builds.words_own(rows[number]).items()) for number in mine]
        build = build_client(client, value)
        try:
            found = lines_check(build, lines, path)
        except UsageError as error:
            raise UsageError(str(error) if value == builds.THIS else f"{error} ({builds.WORD}={value})") from None
        answers |= zip(mine, found, strict=True)
    return [checked_as(answers[number], row) for number, row in enumerate(rows)]


def checked_as(checked: Checked, row: Mapping[str, str]) -> Checked:
    """What a build said of a row, with the build among the words if it was given."""
    word = {key: value for key, value in row.items() if key == builds.WORD}
    return replace(checked, words=checked.words | word, given=checked.given | word)


def labs_check(checked: list[Checked]) -> list[Checked]:
    """What the client cannot know: whether this machine can make the lab that a row asks for."""
    return [entry if entry.unsupported else replace(entry, unsupported=lab_refusal(entry.words))
            for entry in checked]


def unused_refuse(checked: list[Checked], words: Words) -> tuple[Words, tuple[str, ...]]:
    """Refuses a word that no cell uses; one of the scenario that words of the shell made useless
    is left out, with a note."""
    idle = [key for key in words.given if all(key in entry.unused for entry in checked)]
    notes = []
    for key in idle:
        word = words.given[key]
        if word.table == "shell" or not words.overridden:
            raise UsageError(f"{word.where}{word.argument}: no cell uses {key}")
        notes.append(f"{word.where}no cell uses {key} with these words: left out")
    def keep(table: dict[str, str]) -> dict[str, str]:
        return {key: value for key, value in table.items() if key not in idle}
    sweep = {key: values for key, values in words.sweep.items() if key not in idle}
    kept = replace(words, fixed=keep(words.fixed), timing=keep(words.timing), sweep=sweep)
    return kept, tuple(notes)


def cells_merge(rows: list[dict[str, str]], checked: list[Checked]) -> tuple[Cell, ...]:
    """One cell per different set of used words, in order; the name has only the plan's words."""
    cells: dict[str, Cell] = {}
    for row, entry in zip(rows, checked, strict=True):
        given = {key: entry.given[key] for key in row if key in entry.given}
        given |= {key: value for key, value in entry.given.items() if key not in given}
        name = " ".join(f"{key}={value}" for key, value in given.items())
        # A word given to one end may not differ from the other end's, and is then not in words.
        cells.setdefault(name, Cell(name, entry.words | given, given, False, entry.unsupported,
                                    entry.planned_s))
    return tuple(cells.values())


def axes_find(cells: Sequence[Cell], sweep: Iterable[str]) -> tuple[str, ...]:
    """The keys of the sweep that still differ between cells, in order."""
    return tuple(key for key in sweep if len({cell.given.get(key) for cell in cells}) > 1)


def baseline_default(cells: Sequence[Cell], axes: Sequence[str]) -> str:
    """The first value, of the last axis, that this machine can run; empty where nothing varies."""
    if not axes:
        return ""
    able = [cell for cell in cells if cell.unsupported is None] or list(cells)
    value = next((cell.given[axes[-1]] for cell in able if axes[-1] in cell.given), None)
    return "" if value is None else f"{axes[-1]}={value}"


def baseline_choose(
    client: Client, cells: Sequence[Cell], axes: Sequence[str], words: Words,
) -> tuple[dict[str, tuple[str, ...]], str | None]:
    """The baseline's words, and a note where the scenario's has no cell left in this plan."""
    default = baseline_default(cells, axes)
    word = words.given.get("baseline")
    if word is None:
        return selector_expand(client, default, "baseline: ") if default else {}, None
    where = word.where or "baseline: "
    selector = selector_expand(client, word.text, where)
    if any(selector_matches(selector, cell.words) for cell in cells):
        return selector, None
    if word.table == "shell" or not words.overridden:
        raise UsageError(f'{where}no cell has the words "{word.text}"')
    note = f'{where}no cell has "{word.text}" with these words; it is "{default}" in this run'
    return selector_expand(client, default, where) if default else {}, note


def baseline_mark(
    cells: tuple[Cell, ...], selector: dict[str, tuple[str, ...]],
) -> tuple[tuple[Cell, ...], str]:
    """The cells with the baseline marked, and the baseline's words in canonical spelling."""
    marked = tuple(replace(cell, baseline=selector_matches(selector, cell.words))
                   for cell in cells)
    return marked, " ".join(f"{key}={','.join(values)}" for key, values in selector.items())


def run_word(words: Words, vocabulary: Vocabulary, key: str) -> str:
    """A word of the run, or its default; empty where it has none."""
    return words.run.get(key, str(vocabulary.words.get(key, {}).get("default", "")))


def timer_choose(words: Words, vocabulary: Vocabulary, cells: Sequence[Cell]) -> str:
    """Who times the runs; UsageError for a cell that cannot be timed so."""
    timer = run_word(words, vocabulary, "timer")
    for cell in cells if timer == "hyperfine" else ():
        work_check(cell.name, cell.words, fixed=cell.planned_s is None)
    return timer


def count_read(words: Words, vocabulary: Vocabulary, key: str) -> int | None:
    """A word of the run as a number; its default, None where that is no number (`random`)."""
    text = run_word(words, vocabulary, key)
    return int(text) if re.fullmatch(r"\d+", text) else None


def published_as_run(scenario: Scenario, words: Words) -> tuple[Published, ...]:
    """The published figures, each with the fixed words that the shell has changed: of other values nothing was published."""
    changed = [f"{key}={value}" for key, value in scenario.fixed.items()
               if key in words.given and words.given[key].table == "shell"]
    return tuple(replace(figure, words=" ".join([figure.words, *changed]).strip()) for figure in scenario.published)


def scenario_as_run(
    scenario: Scenario, words: Words, excludes: Sequence[str], run: dict[str, str],
) -> Scenario:
    """The plan written as a scenario again, with everything that the shell changed."""
    return replace(scenario, fixed=words.fixed, sweep=words.sweep,
                   run=words.timing | run, exclude=tuple(dict.fromkeys(excludes)),
                   published=published_as_run(scenario, words))


def rounds_choose(client: Client, words: Words, vocabulary: Vocabulary, cells: int) -> tuple[int, str | None]:
    """(rounds, until) of the plan; UsageError where that may be too many runs."""
    rounds, until = count_read(words, vocabulary, "rounds"), words.run.get("until")
    if rounds is None:
        raise Failure(f"{client.program} --list=json gives no default for rounds")
    most = rounds_most(rounds, until)
    if cells * most > RUNS_MAX:
        raise UsageError(f"{cells} cells in {most} rounds are too many runs: at most {RUNS_MAX}")
    return rounds, until


def plan_make(
    client: Client, scenario: Scenario, path: Path | None, arguments: Sequence[str], quick: bool = False,
) -> Plan:
    """The plan for a scenario (path is its file, for messages) and words of the shell; quick: for a first look.

    UsageError where a word is wrong, given twice, contradicts another, or is used by no cell.
    """
    vocabulary = client_list(client)
    shell, shell_excludes = shell_split(arguments)
    words = words_collect(client, vocabulary, scenario, path, shell)
    words, changes = words_quicken(words, vocabulary) if quick else (words, None)
    excludes = [(text, f'{path}: exclude "{text}": ', False) for text in scenario.exclude]
    excludes += [(text, f'not="{text}": ', True) for text in shell_excludes]
    rows = combinations_exclude(client, combinations_make(words), excludes)
    checked = labs_check(rows_check(client, rows, path))
    words, notes = unused_refuse(checked, words)
    cells = cells_merge(rows, checked)
    axes = axes_find(cells, words.sweep)
    selector, note = baseline_choose(client, cells, axes, words)
    cells, baseline = baseline_mark(cells, selector)
    notes += (note,) if note else ()
    notes += (f"--quick: {quick_text(changes)}",) if changes is not None else ()
    rounds, until = rounds_choose(client, words, vocabulary, len(cells))
    seed = count_read(words, vocabulary, "seed")
    run = {"rounds": str(rounds)} | ({} if seed is None else {"seed": str(seed)})
    run |= {"until": until} if until else {}
    run |= {"baseline": baseline} if baseline else {}
    timer = timer_choose(words, vocabulary, cells)
    run |= {"timer": timer} if "timer" in words.run else {}
    as_run = scenario_as_run(scenario, words, [text for text, *_ in excludes], run)
    return Plan(as_run, axes, cells, rounds, seed, baseline, timer, notes, until, changes)


def plan_seeded(plan: Plan, seed: int) -> Plan:
    """The same plan with its seed settled."""
    run = plan.scenario.run | {"seed": str(seed)}
    return replace(plan, seed=seed, scenario=replace(plan.scenario, run=run))
