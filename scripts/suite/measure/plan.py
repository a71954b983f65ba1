# SPDX-License-Identifier: MIT
"""From a scenario and words of the shell to a plan: which cells, in which order, how many rounds.

`uncork-client` says what a word means; this module decides which words go together. Rules: a word
of the shell replaces the scenario's; a list of values makes a word an axis (where it stood, a new
one last), a single value makes it fixed; `not="a=1 b=2"` leaves out the cells that match all of its
words (a scenario writes `exclude = ["a=1 b=2"]`); an arm, a named set of words, wins over [fixed]
and [sweep], and a word of the shell must not contradict it.
"""

import contextlib
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from suite.base.client import (
    Checked,
    Client,
    Vocabulary,
    build_try,
    client_check,
    client_expand,
    client_list,
)
from suite.base.errors import UsageError, nearest_hint
from suite.base.runner_words import (
    ARM,
    DEFAULT_WORD,
    OWN_ENDS,
    RUNNER_WORDS,
    TARGET,
    THIS,
    build_of,
    line_for_client,
    starts_from_here,
    target_of,
    words_for_client,
    words_for_runner,
)
from suite.base.words import word_split, words_split, words_text
from suite.measure.hyperfine import work_check
from suite.measure.words import (
    RUN_WORDS,
    Word,
    Words,
    is_overridden,
    shell_split,
    values_of,
    words_collect,
    words_expand,
    words_quicken,
)
from suite.places.lab.lab import lab_refusal
from suite.places.target import Target
from suite.places.targets import Targets
from suite.result.plan import Plan, PlannedCell, baseline_default, quick_text
from suite.scenario.scenario import Scenario
from suite.scenario.subject import is_parameter, subject_refusal

# the word whose pairs run the cells at the same time, and are then the values of target
HOSTS_WORD = "hosts"
CELLS_MAX = 100_000
RUNS_MAX = 10_000_000  # months of runs: a slip of the keyboard
Arms = Mapping[str, dict[str, str]]  # the words of each arm of a plan, by its name


@dataclass(frozen=True)
class Planned:
    """A plan, the same plan as a scenario, notes for the user, and the vocabulary."""

    plan: Plan
    scenario: Scenario
    notes: tuple[str, ...]
    vocabulary: Vocabulary


def selector_expand(client: Client, text: str, where: str) -> dict[str, tuple[str, ...]]:
    """`write=zerocopy message=64,128` as key -> values, in canonical spelling. UsageError, which
    begins with where, for no words, a word given twice, or one that the client does not take."""
    selector: dict[str, tuple[str, ...]] = {}
    words = [Word(*word_split(part), where=where) for part in text.split()]
    if not words:
        raise UsageError(f"{where}names no words (key=value, several in quotes)")
    for word in words_expand(client, words):
        if word.key in selector:
            raise UsageError(f"{where}{word.key} is given twice")
        selector[word.key] = word.values
    return selector


def selectors_check(client: Client, selectors: Sequence[tuple[str, str]]) -> None:
    """UsageError for the first (text, where) that the client refuses; one call for all it takes."""
    values: dict[str, dict[str, None]] = {}
    for text, where in selectors:
        for key, value in words_split(text.split(), where).items():
            if key != ARM:  # no client knows it
                values.setdefault(key, {}).update(dict.fromkeys(value.split(",")))
    if not values:
        return
    try:
        client_expand(client, words_text({key: ",".join(each)
                                          for key, each in values.items()}).split())
    except UsageError:
        for text, where in selectors:
            selector_expand(client, text, where)


def selector_matches(selector: Mapping[str, tuple[str, ...]], words: Mapping[str, str]) -> bool:
    return all(words.get(key) in values for key, values in selector.items())


def combinations_make(words: Words) -> list[dict[str, str]]:
    """Words of each cell: the product of axes, the last fastest. UsageError beyond CELLS_MAX."""
    values = values_of(words, "fixed", "sweep", "timing")
    count = math.prod(map(len, values.values()))
    if count > CELLS_MAX:
        raise UsageError(f"{count} cells are too many: at most {CELLS_MAX}")
    return [dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())]


def arms_expand(client: Client, scenario: Scenario, path: Path | None, words: Words) -> Arms:
    """The arms that the word arm names, in canonical spelling; UsageError for one that the scenario
    does not have, and for a word of the shell that contradicts it."""
    if ARM not in words:
        return {}
    known = {arm.name: arm.words for arm in scenario.arms}
    arms = {}
    for name in words[ARM].values:
        if name not in known:
            hint = nearest_hint(name, known) or ": [[arm]] in a scenario makes one"
            raise UsageError(f"{words[ARM].where}{ARM}={name}: there is no such arm{hint}")
        given = words_expand(client, [
            Word(key, text, where=f'{path}: [[arm]] "{name}": {key}: ')
            for key, text in known[name].items()])
        for word in given:
            arm_word_check(word, name, words)
        arms[name] = {word.key: word.values[0] for word in given}
    return arms


def arm_word_check(word: Word, arm: str, words: Words) -> None:
    """UsageError for a word that no arm may have, or that the shell gives otherwise."""
    if word.key in (*RUN_WORDS, ARM):
        raise UsageError(f"{word.where}an arm has words of cells only")
    if len(word.values) > 1:
        raise UsageError(f"{word.where}has several values: make an arm for each")
    for other in words.values():
        same = other.key.split(".")[-1] == word.key.split(".")[-1]
        if other.typed and same and (other.key, other.values) != (word.key, word.values):
            raise UsageError(f"{other.argument} and {ARM}={arm} contradict each other: the arm has "
                             f"{word.argument}")


def arms_used_check(rows: Sequence[dict[str, str]], checked: Sequence[Checked], arms: Arms) -> None:
    """UsageError for a word of an arm that none of its cells uses. A parameter may be of a program
    that the shell has left out."""
    for name, words in arms.items():
        mine = [entry for row, entry in zip(rows, checked, strict=True) if row[ARM] == name]
        for key, value in words.items():
            if mine and not is_parameter(key) and all(key in entry.unused for entry in mine):
                raise UsageError(f"{ARM}={name}: no cell of it uses {key}={value}")


def combinations_exclude(client: Client, rows: list[dict[str, str]],
                         excludes: Iterable[tuple[str, str, bool]]) -> list[dict[str, str]]:
    """Without the cells that an exclusion (text, where, must match) matches. UsageError, which
    begins with where, for a word that no cell has, for an exclusion that must match and leaves out
    nothing, and for one that leaves nothing."""
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


def refusal_text(error: UsageError, lines: Sequence[str], row: Mapping[str, str],
                 path: Path | None) -> str:
    """Why a client refuses one of its lines, in one line: with the scenario (path), of several
    lines the line, and the words that decide which client is asked. row: of the first line."""
    text, named = str(error), words_text(words_for_runner(row))
    match = re.fullmatch(r"standard input:(\d+): (.*)", text)
    if match:
        text = match[2] + (f", as in {lines[int(match[1]) - 1]}" if len(lines) > 1 else "")
    return (f"{path}: " if path else "") + text + (f" ({named})" if named else "")


def rows_check(targets: Targets, rows: Sequence[dict[str, str]],
               path: Path | None) -> list[Checked]:
    """The answer of the client of its build on its target for each row, in order. Every build is
    tried first. UsageError for a row that its client does not take."""
    for value in dict.fromkeys(build_of(row) for row in rows if build_of(row) != THIS):
        build_try(targets.local, value)
    targets.require(map(target_of, rows))
    rows_of: dict[Client, list[int]] = {}
    for number, row in enumerate(rows):
        rows_of.setdefault(targets.client(row), []).append(number)
    elsewhere = [targets.target(row).planned_words(row) for row in rows]
    answers: dict[int, Checked] = {}
    for client, mine in rows_of.items():
        lines = [line_for_client(rows[number], elsewhere[number]) for number in mine]
        try:
            answers |= zip(mine, client_check(client, lines), strict=True)
        except UsageError as error:
            raise UsageError(refusal_text(error, lines, rows[mine[0]], path)) from None
    return [answer_complete(targets.target(row), row, elsewhere[number], answers[number])
            for number, row in enumerate(rows)]


def answer_complete(target: Target, row: Mapping[str, str], elsewhere: Mapping[str, str],
                    checked: Checked) -> Checked:
    """The answer of a client for a row, with what no client knows. These are the words that only
    the runner acts on, and why the target or a lab on this machine cannot run the row. The
    addresses that only the client was given (elsewhere) are taken out."""
    words, own = words_for_runner(row), {key: OWN_ENDS[key] for key in elsewhere}
    hidden = elsewhere if words_for_client(row) else DEFAULT_WORD | dict(elsewhere)
    given = {key: value for key, value in checked.given.items() if key not in hidden}
    used = checked.words | own | words
    reasons = (checked.unsupported, target.unsupported(used), lab_refusal(used),
               subject_refusal(used, starts_from_here(used)))
    return replace(checked, words=used, given=given | words,
                   unsupported=next(filter(None, reasons), None))


def users_text(client: Client, vocabulary: Vocabulary, row: Mapping[str, str], key: str) -> str:
    """` with workload=request: it needs workload=stream`: which one other word would make a cell of
    this row use the word key; empty where none is known."""
    own = words_for_client(row)
    for other in sorted(vocabulary.words, key=lambda word: word not in row):
        if other in (key, *RUNNER_WORDS, *vocabulary.run_words):
            continue
        found = []
        for value in vocabulary.words[other].get("choices", ()):
            with contextlib.suppress(UsageError):  # with another word of the row it is no plan
                (checked,) = client_check(client, [words_text(own | {other: value})])
                found += [] if key in checked.unused else [f"{other}={value}"]
        if found:
            excluded = f" with {other}={row[other]}" if other in row else ""
            return f"{excluded}: it needs {' or '.join(found)}"
    return ""


def unused_refuse(client: Client, vocabulary: Vocabulary, row: Mapping[str, str],
                  checked: list[Checked], words: Words) -> tuple[Words, list[str]]:
    """The words that some cell uses, and notes about the others. row: the words of a cell.
    UsageError for a word that no cell uses. A word of the scenario that words of the shell made
    useless is left out, with a note."""
    idle = {key: word for key, word in words.items()
            if all(key in entry.unused for entry in checked)}
    for key, word in idle.items():
        if word.typed or not is_overridden(words):
            raise UsageError(f"{word.where}{word.argument}: no cell uses {key}"
                             f"{users_text(client, vocabulary, row, key)}")
    return {key: word for key, word in words.items() if key not in idle}, [
        f"{word.where}no cell uses {key} with these words: left out" for key, word in idle.items()]


def cells_merge(rows: list[dict[str, str]], checked: list[Checked]) -> tuple[PlannedCell, ...]:
    """One cell for each different set of used words, in order; only words of the plan name it."""
    cells: dict[str, PlannedCell] = {}
    for row, entry in zip(rows, checked, strict=True):
        given = {key: entry.given[key] for key in (*row, *entry.given) if key in entry.given}
        name = words_text(given)
        # A word given to one end may not differ from the other end's, and is then not in words.
        cells.setdefault(name, PlannedCell(name, entry.words | given, given, False,
                                           entry.unsupported, entry.planned_s))
    return tuple(cells.values())


def baseline_choose(client: Client, cells: Sequence[PlannedCell], axes: Sequence[str],
                    words: Words) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The words of the baseline, and a note where no cell of this plan is the baseline of the
    scenario. UsageError where none is, and no word of the shell explains that."""
    where, default = "baseline: ", baseline_default(cells, axes)
    word, notes = words.get("baseline"), list[str]()
    if word is not None:
        where = word.where or where
        selector = selector_expand(client, word.text, where)
        if any(selector_matches(selector, cell.words) for cell in cells):
            return selector, notes
        if word.typed or not is_overridden(words):
            raise UsageError(f'{where}no cell has the words "{word.text}"')
        notes += [f'{where}no cell has "{word.text}" with these words; it is "{default}" in this '
                  "run"]
    return selector_expand(client, default, where) if default else {}, notes


def scenario_as_run(scenario: Scenario, words: Words, plan: Plan, excludes: Iterable[str]
                    ) -> Scenario:
    """The plan written as a scenario again, with everything that the shell changed. The targets
    that hosts= stands for are left out. Nothing was published for the fixed words that the shell
    has changed: they are added to the words of the published figures."""
    cells = {key: word for key, word in words.items() if key != TARGET or plan.hosts is None}
    fixed, timing = ({key: value for key, (value,) in values_of(cells, role).items()}
                     for role in ("fixed", "timing"))
    run = {"rounds": str(plan.rounds), "seed": None if plan.seed is None else str(plan.seed),
           "until": plan.until, "baseline": plan.baseline,
           "timer": plan.timer if "timer" in words else None, HOSTS_WORD: plan.hosts}
    changed = [f"{key}={value}" for key, value in scenario.fixed.items()
               if key in words and words[key].typed]
    return replace(
        scenario, fixed=fixed, sweep=values_of(cells, "sweep"),
        run=timing | {key: value for key, value in run.items() if value},
        exclude=tuple(dict.fromkeys(excludes)),
        published=tuple(replace(figure, words=" ".join([figure.words, *changed]).strip())
                        for figure in scenario.published))


def plan_make(targets: Targets, scenario: Scenario, path: Path | None, arguments: Sequence[str],
              quick: bool = False) -> Planned:
    """The plan for a scenario (path is its file, for messages) and words of the shell. Words mean
    what they do to the client of this machine; what is supported its target says of each cell.
    UsageError where a word is wrong, contradicts another, or is used by no cell."""
    client = targets.local
    vocabulary = client_list(client)
    shell, shell_excludes = shell_split(arguments)
    words = words_collect(client, vocabulary, scenario, path, shell, targets.hosts_open)
    words, changes = words_quicken(words, vocabulary) if quick else (words, None)
    excludes = [(text, f'{path}: exclude "{text}": ', False) for text in scenario.exclude]
    excludes += [(text, f'not="{text}": ', True) for text in shell_excludes]
    arms = arms_expand(client, scenario, path, words)
    rows = [row | arms.get(row.get(ARM, ""), {}) for row in combinations_make(words)]
    rows = combinations_exclude(client, rows, excludes)
    checked = rows_check(targets, rows, path)
    arms_used_check(rows, checked, arms)
    words, notes = unused_refuse(client, vocabulary, rows[0], checked, words)
    cells = cells_merge(rows, checked)
    axes = tuple(key for key in values_of(words, "sweep")
                 if len({cell.given.get(key) for cell in cells}) > 1)
    selector, baseline_notes = baseline_choose(client, cells, axes, words)
    cells = tuple(replace(cell, baseline=selector_matches(selector, cell.words)) for cell in cells)
    notes += baseline_notes + ([f"--quick: {quick_text(changes)}"] if changes is not None else [])
    run = {key: str(word["default"]) for key, word in vocabulary.words.items()
           if word.get("default") is not None}
    run |= {key: value for key, (value,) in values_of(words, "run").items()}
    counts = {key: int(text) for key, text in run.items() if re.fullmatch(r"\d+", text)}
    if run.get("timer") == "hyperfine":
        for cell in cells:
            work_check(cell.name, cell.words, fixed=cell.planned_s is None)
    plan = Plan(scenario.name, axes, cells, counts["rounds"], counts.get("seed"),
                words_text({key: ",".join(values) for key, values in selector.items()}),
                run.get("timer", ""), run.get("until"), changes, run.get(HOSTS_WORD))
    if len(cells) * plan.rounds_most > RUNS_MAX:
        raise UsageError(f"{len(cells)} cells in {plan.rounds_most} rounds are too many runs: "
                         f"at most {RUNS_MAX}")
    return Planned(plan, scenario_as_run(scenario, words, plan, [text for text, *_ in excludes]),
                   tuple(notes), vocabulary)


def scenario_seeded(scenario: Scenario, seed: int | None) -> Scenario:
    return replace(scenario, run=scenario.run | {"seed": str(seed)})
