# SPDX-License-Identifier: MIT
"""Which blocks are asked for: words of the shell as the sides of a result. Pure.

Two selectors that give one word two values are two sides; one that gives a word of the baseline another
value is compared with the baseline; all others narrow both sides. Without any, the baseline is compared
with each other value of its words.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from suite.comparison.sides import cells_select
from suite.errors import UsageError
from suite.frame import Matrix, baseline_words, words_parse

Words = Mapping[str, str]


def is_opposed(one: Words, two: Words) -> bool:
    """Whether two selectors give one word two values."""
    return any(two.get(key, value) != value for key, value in one.items())


def words_join(selectors: Sequence[Words]) -> dict[str, str]:
    """All words of selectors that narrow; UsageError where they contradict each other."""
    joined: dict[str, str] = {}
    for selector in selectors:
        if is_opposed(joined, selector):
            key = next(key for key, value in selector.items() if joined.get(key, value) != value)
            raise UsageError(f'"{key}={joined[key]}" and "{key}={selector[key]}": there are two sides, not more')
        joined |= selector
    return joined


def baseline_others(matrix: Matrix, base: Words, narrow: Words) -> list[dict[str, str]]:
    """The other values of the baseline's words in the cells that narrow selects, in order."""
    values = dict.fromkeys(tuple(cell.axes[axis] for axis in base) for cell in matrix.cells.values()
                           if all(cell.words.get(key) in value.split(",") for key, value in narrow.items()))
    return [dict(zip(base, value, strict=True)) for value in values
            if value != tuple(base.values()) and "" not in value]


def sides_opposed(selectors: Sequence[Words]) -> tuple[Words, Words] | None:
    """The first two selectors that give one word two values."""
    return next(((one, two) for one, two in itertools.combinations(selectors, 2) if is_opposed(one, two)), None)


def sides_choose(matrix: Matrix, arguments: Sequence[str]) -> tuple[dict[str, str], list[tuple[Words, Words]]]:
    """(words that narrow, pairs of selectors: base and new); no pair where there is nothing to compare.

    UsageError where a word or a value is not of the result, or one word has more than two values.
    """
    selectors = [words_parse(argument, "paste") for argument in arguments]
    for selector in selectors:
        cells_select(matrix, selector)
    sides = sides_opposed(selectors)
    if sides:
        one, two = sides
        narrow = words_join([selector for selector in selectors if selector is not one and selector is not two])
        return narrow, [(words_join([one, narrow]), words_join([two, narrow]))]
    base, narrow = baseline_words(matrix), words_join(selectors)
    new = {key: narrow.pop(key) for key in base} if base and base.keys() <= narrow.keys() else {}
    others = [new] if new and new != base else baseline_others(matrix, base, narrow)
    return narrow, [({**base, **narrow}, {**other, **narrow}) for other in others]
