# SPDX-License-Identifier: MIT
"""The arms of a scenario: named sets of words that belong together, as values of the word arm.

An arm wins over [fixed] and [sweep]: its cells have its words. A word of the shell that contradicts
an arm of the plan is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from suite.base.client import Checked, Client
from suite.base.errors import UsageError, nearest_hint
from suite.base.runner_words import ARM
from suite.measure.words import RUN_WORDS, Word, Words, words_expand
from suite.scenario.scenario import Scenario

Arms = Mapping[str, Mapping[str, str]]  # the words of each arm of a plan, by its name
CellRow = Mapping[str, str]


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
    """UsageError for a word that cannot stand in an arm, or that the shell gives otherwise, for
    both ends or for one."""
    if word.key in (*RUN_WORDS, ARM):
        raise UsageError(f"{word.where}an arm has words of cells only")
    if len(word.values) > 1:
        raise UsageError(f"{word.where}has several values: make an arm for each")
    for other in words.values():
        same = other.key.split(".")[-1] == word.key.split(".")[-1]
        if other.typed and same and (other.key, other.values) != (word.key, word.values):
            raise UsageError(f"{other.argument} and {ARM}={arm} contradict each other: the arm has "
                             f"{word.argument}")


def arms_apply(rows: Sequence[CellRow], arms: Arms) -> list[dict[str, str]]:
    """Each row with the words of its arm, which win."""
    return [{**row, **arms.get(row.get(ARM, ""), {})} for row in rows]


def arms_used_check(rows: Sequence[CellRow], checked: Sequence[Checked], arms: Arms) -> None:
    """UsageError for a word of an arm that none of its cells uses."""
    for name, words in arms.items():
        mine = [entry for row, entry in zip(rows, checked, strict=True) if row[ARM] == name]
        for key, value in words.items():
            if mine and all(key in entry.unused for entry in mine):
                raise UsageError(f"{ARM}={name}: no cell of it uses {key}={value}")
