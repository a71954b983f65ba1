# SPDX-License-Identifier: MIT
"""The words of a scenario and of the shell, merged, expanded by `uncork-client`, and each in its
role."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from suite.base.client import Client, Expanded, Vocabulary, client_expand, scenario_path
from suite.base.errors import Failure, UsageError
from suite.base.runner_words import TARGET
from suite.base.words import word_split
from suite.scenario.scenario import Scenario, scenario_load

# what this runner acts on; the client lists them too
RUN_WORDS = ("rounds", "seed", "until", "baseline", "timer", "hosts")
Spread = Callable[[str], Sequence[str]]  # the pairs of an inventory as values of target


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


def shell_split(arguments: Sequence[str]) -> tuple[list[Word], list[str]]:
    """Words of the shell, and the texts of its `not=`; a word given twice is refused."""
    words: dict[str, Word] = {}
    excludes = []
    for argument in arguments:
        if argument.startswith("not="):
            excludes.append(argument.removeprefix("not="))
            continue
        key, value = word_split(argument)
        if key in words:
            raise UsageError(f'{key} is given twice: "{words[key].argument}" and "{argument}"')
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


def hosts_spread(merged: list[tuple[Word, str]], spread: Spread) -> list[tuple[Word, str]]:
    """With the pairs of hosts= as the first axis, so that what is compared within a pair varies
    faster."""
    by_key = {word.key: word for word, _ in merged}
    hosts, target = by_key.get("hosts"), by_key.get(TARGET)
    if hosts is None:
        return merged
    if target is not None:
        raise UsageError(
            f"{target.where}{hosts.argument} and {target.argument} contradict each other: "
                         "its pairs are the targets")
    return [(Word(TARGET, ",".join(spread(hosts.text)), "sweep", hosts.where), "sweep"), *merged]


def words_collect(
    client: Client, vocabulary: Vocabulary, scenario: Scenario, path: Path | None,
    shell: list[Word], spread: Spread,
) -> Words:
    """Scenario and shell together, expanded and in their roles."""
    merged = words_merge(scenario_words(scenario, path), shell)
    run_words_check(merged, vocabulary)
    merged = hosts_spread(merged, spread)
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


WORDS_NAME = "words"  # the name of a run without a scenario


def scenario_choose(arguments: Sequence[str]) -> tuple[Scenario, Path | None, list[str]]:
    """(scenario, its file, words) from what stood in the shell."""
    names = [argument for argument in arguments if "=" not in argument]
    words = [argument for argument in arguments if "=" in argument]
    if len(names) > 1:
        raise UsageError(f'one scenario at a time, not "{names[0]}" and "{names[1]}"')
    if names:
        path = scenario_path(names[0])
        return scenario_load(path), path, words
    if not words:
        raise UsageError("nothing to run: give a scenario or words (uncork list shows both)")
    return Scenario(WORDS_NAME), None, words
