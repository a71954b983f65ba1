# SPDX-License-Identifier: MIT
"""Which cells stand on each side, and which belong together: what else varies becomes rows.

Words that differ between the two selectors are what is compared. Every other word that varies names
a row, and cells are partners where they agree in all of these. A word that has one value on one
side, none of which the other side has, cannot bring partners together: it is told as a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from suite.analyse.comparison.model import Difference
from suite.analyse.frame import Cell, Matrix
from suite.analyse.selection import Words, cells_select
from suite.base.errors import UsageError


@dataclass(frozen=True)
class Pair:
    """Two cells that belong together, or one without a partner; axes name the row."""

    axes: Words
    base: Cell | None
    new: Cell | None


@dataclass(frozen=True)
class Pairing:
    """All pairs in the order of the plan, the axes that name them, and what differs beside what is
    compared."""

    axes: tuple[str, ...]
    pairs: tuple[Pair, ...]
    differences: tuple[Difference, ...]


def baseline_others(matrix: Matrix, base: Words, narrow: Words) -> list[dict[str, str]]:
    """The other values of the baseline's words in the cells that narrow selects, in order."""
    cells = cells_select(matrix, narrow)
    values = dict.fromkeys(tuple(cell.axes[axis] for axis in base) for cell in cells)
    return [dict(zip(base, value, strict=True)) for value in values
            if value != tuple(base.values()) and "" not in value]


def words_compared(base: Words, new: Words) -> tuple[str, ...]:
    """The words that both selectors give, with different values."""
    return tuple(key for key, value in base.items() if key in new and new[key] != value)


def values_of(cells: Iterable[Cell], key: str) -> tuple[str, ...]:
    """The values of a word over these cells, in order; "" for a cell that does not use it."""
    return tuple(dict.fromkeys(cell.words.get(key, "") for cell in cells))


def is_shared(base: Sequence[str], new: Sequence[str]) -> bool:
    """Whether a word can bring partners together: not where one side has one value, which the other
    has not."""
    return bool(set(base) & set(new)) or min(len(base), len(new)) > 1


def value_text(values: Sequence[str]) -> str:
    """The values of a word on one side as a difference tells them."""
    return ",".join(value or "none" for value in values)


def pair_make(axes: Sequence[str], varying: Words, base: Cell | None, new: Cell | None) -> Pair:
    """A pair with the words that name it; varying says of which side a word is that has no
    partner."""
    def value(axis: str) -> str:
        cell = new if base is None or (new is not None and varying.get(axis) == "new") else base
        return cell.words.get(axis, "") if cell is not None else ""
    return Pair({axis: value(axis) for axis in axes}, base, new)


def pairs_make(base: Sequence[Cell], new: Sequence[Cell], axes: Sequence[str],
               shared: Sequence[str],
               varying: Words) -> Iterable[Pair]:
    """Every cell of the base with its partners, in order, then what only the new side has."""
    def key(cell: Cell) -> tuple[str, ...]:
        return tuple(cell.words.get(axis, "") for axis in shared)
    partners: dict[tuple[str, ...], list[Cell]] = {}
    for cell in new:
        partners.setdefault(key(cell), []).append(cell)
    for cell in base:
        for other in partners.get(key(cell), [None]):
            yield pair_make(axes, varying, cell, other)
    known = {key(cell) for cell in base}
    for cell in new:
        if key(cell) not in known:
            yield pair_make(axes, varying, None, cell)


def compared_check(cells: Sequence[Cell], compared: Sequence[str]) -> None:
    """UsageError where a word that is compared has several values on one side: they would be
    merged."""
    for key in compared:
        values = values_of(cells, key)
        if len(values) > 1:
            raise UsageError(f"{key}={','.join(values)}: a side has one value of what is compared")


def pairing_make(base: Sequence[Cell], new: Sequence[Cell], axes: Sequence[str],
                 compared: Sequence[str]) -> Pairing:
    """The pairs of two selections; axes are the words that vary in either result."""
    compared_check(base, compared)
    compared_check(new, compared)
    rows, shared, differences = [], [], []
    varying: dict[str, str] = {}
    for axis in axes:
        if axis in compared:
            continue
        values = values_of(base, axis), values_of(new, axis)
        if max(map(len, values)) > 1:
            rows.append(axis)
        if is_shared(*values):
            shared.append(axis)
        else:
            varying[axis] = "new" if len(values[1]) > 1 else "base"
            differences.append(Difference("words", axis, value_text(values[0]),
                                          value_text(values[1])))
    pairs = tuple(pairs_make(base, new, rows, shared, varying))
    if not any(pair.base and pair.new for pair in pairs):
        raise UsageError(
            f"no cell of one side has a partner on the other: they share no value of {', '.join(shared)}")
    return Pairing(tuple(rows), pairs, tuple(differences))


def fixed_differences(pairing: Pairing, compared: Sequence[str]) -> tuple[Difference, ...]:
    """The words in which partners differ although they are no axis: of two results what was fixed,
    or a default."""
    pairs = [(pair.base.words, pair.new.words) for pair in pairing.pairs if pair.base and pair.new]
    told = {*compared, *pairing.axes, *(difference.name for difference in pairing.differences)}
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for base, new in pairs:
        for key in base.keys() & new.keys() - told:
            if base[key] != new[key]:
                sides = found.setdefault(key, ({}, {}))
                sides[0][base[key]] = sides[1][new[key]] = None
    return tuple(Difference("words", key, ",".join(sides[0]), ",".join(sides[1]))
                 for key, sides in sorted(found.items()))
