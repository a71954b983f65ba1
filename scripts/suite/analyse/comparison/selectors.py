# SPDX-License-Identifier: MIT
"""What is asked for: words of the shell as results, two sides, and metrics.

Two selectors that give one word two values are two sides; one that gives a word of the baseline
another value is compared with the baseline; all others narrow both sides. Without any, the baseline
is compared with each other value of its words, and where a result is of several systems the first
of these with each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from suite.analyse.arrangement import layout_choose
from suite.analyse.comparison.sides import baseline_others
from suite.analyse.frame import Matrix, baseline_words, words_parse
from suite.analyse.metrics import METRICS, Metric, metric_find
from suite.analyse.selection import Words, cells_select
from suite.base.errors import UsageError
from suite.base.runner_words import TARGET
from suite.scenario.scenario import Table

Pair = tuple[Words, Words]  # base and new


def is_opposed(one: Words, two: Words) -> bool:
    """Whether two selectors give one word two values."""
    return any(two.get(key, value) != value for key, value in one.items())


def words_join(selectors: Sequence[Words]) -> dict[str, str]:
    """All words of selectors that narrow; UsageError where they contradict each other."""
    joined: dict[str, str] = {}
    for selector in selectors:
        if is_opposed(joined, selector):
            key = next(key for key, value in selector.items() if joined.get(key, value) != value)
            raise UsageError(
                f'"{key}={joined[key]}" and "{key}={selector[key]}": there are two sides, not more')
        joined |= selector
    return joined


def sides_opposed(selectors: Sequence[Words]) -> Pair | None:
    """The first two selectors that give one word two values, each with the words of all others."""
    for one, two in combinations(selectors, 2):
        if is_opposed(one, two):
            narrow = words_join([other for other in selectors if other is not one
                                 and other is not two])
            return words_join([one, narrow]), words_join([two, narrow])
    return None


def selectors_parse(arguments: Sequence[str], where: str) -> list[Words]:
    """The words of each argument; UsageError where two are the same, which would be one side
    twice."""
    selectors = [words_parse(argument, where) for argument in arguments]
    for number, selector in enumerate(selectors):
        if selector in selectors[:number]:
            raise UsageError(f'"{arguments[number]}" is given twice: two sides differ in some word')
    return selectors


def sides_within(matrix: Matrix, arguments: Sequence[str], where: str) -> list[Pair]:
    """The pairs of one result that are asked for; none where there is nothing to compare.

    UsageError where a word or a value is not of the result, or one word has more than two values.
    """
    selectors = selectors_parse(arguments, where)
    for selector in selectors:
        cells_select(matrix, selector)
    opposed = sides_opposed(selectors)
    if opposed:
        return [opposed]
    words = words_join(selectors)
    base = first_system(matrix, words) or baseline_words(matrix)
    new = {key: words[key] for key in base if key in words}
    narrow = {key: value for key, value in words.items() if key not in base}
    others = [new] if new and new.keys() == base.keys() and new != base else baseline_others(
        matrix, base, narrow)
    return [({**base, **narrow}, {**other, **narrow}) for other in others]


def first_system(matrix: Matrix, words: Words) -> Words | None:
    """The first target of a result that has several, unless words are about its baseline; None
    else. The pairs of a fleet are no systems to be told apart, but the same several times."""
    if TARGET not in matrix.axes or matrix.result.plan.hosts or any(key in words
        for key in baseline_words(matrix)):
        return None
    return {TARGET: next(cell.words[TARGET] for cell in matrix.cells.values()
                         if TARGET in cell.words)}


def sides_between(arguments: Sequence[str], where: str) -> Pair:
    """The selectors of two results: two that give one word two values are one for each, all others
    narrow both."""
    selectors = selectors_parse(arguments, where)
    return sides_opposed(selectors) or (words_join(selectors), words_join(selectors))


@dataclass(frozen=True)
class Asked:
    """The arguments of a command by what they are: folders of results, selectors, and its own
    words."""

    folders: tuple[Path, ...]
    selectors: tuple[str, ...]
    own: Mapping[str, str]


def arguments_sort(given: Sequence[str], own: Sequence[str]) -> Asked:
    """What has no `=`, or is there, is a folder: one or two, else UsageError. own: words that
    select no cells."""
    folders = [Path(text) for text in given if "=" not in text or Path(text).is_dir()]
    words = [text for text in given if Path(text) not in folders]
    if not folders:
        raise UsageError(f'"{given[0]}": the folder of a result comes first')
    if len(folders) > 2:
        raise UsageError(f'"{folders[2]}": there are two results, not more')
    found: dict[str, str] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key in found:
            raise UsageError(f"{key} is given twice")
        if key in own:
            found[key] = value
    selectors = tuple(word for word in words if word.partition("=")[0] not in own)
    return Asked(tuple(folders), selectors, found)


def names_split(key: str, value: str) -> tuple[str, ...]:
    """The names of `key=one,two`; UsageError for an empty one, or one that is given twice."""
    names = tuple(value.split(","))
    if "" in names or len(set(names)) < len(names):
        raise UsageError(
            f'"{key}={value}": {"an empty name" if "" in names else "a name is given twice"}')
    return names


def metrics_choose(matrix: Matrix, asked: str | None) -> tuple[Metric, ...]:
    """The metrics of columns=METRIC,...; where nobody asks, the first of the result's table.

    Of several targets, or where some times say nothing, all of the table: systems differ in what
    they count too.
    """
    if asked is not None:
        return tuple(metric_find(name, "columns") for name in names_split("columns", asked))
    shown = layout_choose(matrix, matrix.result.scenario.table or Table()).metrics
    several = TARGET in matrix.axes or any(cell.emulated for cell in matrix.cells.values())
    return tuple(METRICS[name] for name in (shown if several else shown[:1]))
