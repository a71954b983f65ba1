# SPDX-License-Identifier: MIT
"""Rows in which every two values of different words meet at least once."""

from __future__ import annotations

from itertools import combinations

Row = dict[str, str]
Pair = frozenset[tuple[str, str]]


def _pairs_of(row: Row) -> set[Pair]:
    return {frozenset(pair) for pair in combinations(row.items(), 2)}


def _complete(row: Row, words: dict[str, list[str]], missing: set[Pair]) -> Row:
    """Fills the words that the row lacks, each with the value that covers most of what is
    missing."""
    for word, values in words.items():
        if word in row:
            continue
        gains = [sum(frozenset([(word, value), item]) in missing for item in row.items())
                 for value in values]
        row = {**row, word: values[gains.index(max(gains))]}
    return row


def pairwise_rows(words: dict[str, list[str]]) -> list[Row]:
    """A greedy covering array of strength two, always the same for the same words."""
    missing = {
        frozenset([(a, x), (b, y)])
        for a, b in combinations(words, 2)
        for x in words[a]
        for y in words[b]
    }
    rows = []
    while missing:
        seed = min(missing, key=lambda pair: sorted(pair))
        row = _complete(dict(sorted(seed)), words, missing)
        missing -= _pairs_of(row)
        rows.append(row)
    return rows
