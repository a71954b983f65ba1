# SPDX-License-Identifier: MIT
"""Which cells some words select. Pure; `show`, `export` and every comparison ask here."""

from __future__ import annotations

from collections.abc import Mapping

from suite.analyse.frame import Cell, Matrix
from suite.base.errors import UsageError, nearest_hint

Words = Mapping[str, str]


def words_text(words: Words) -> str:
    """The words as they are typed."""
    return " ".join(f"{key}={value}" for key, value in words.items())


def varying_hint(matrix: Matrix, key: str) -> str:
    """The word that was meant, else those that vary in the result."""
    known = dict.fromkeys(key for cell in matrix.cells.values() for key in cell.words)
    axes = f" (here vary {', '.join(matrix.axes)})" if matrix.axes else ""
    return nearest_hint(key, known) or axes


def selector_check(matrix: Matrix, words: Words) -> None:
    """UsageError for a word or a value that no cell of the result has."""
    cells = list(matrix.cells.values())
    for key, value in words.items():
        values = dict.fromkeys(cell.words[key] for cell in cells if key in cell.words)
        if not values:
            raise UsageError(
                f'"{key}={value}": no word {key} in {matrix.result.name}{varying_hint(matrix, key)}')
        missing = next((part for part in value.split(",") if part not in values), None)
        if missing is not None:
            raise UsageError(f'"{key}={value}": no cell of {matrix.result.name} has {key}={missing}'
                             f"{nearest_hint(missing, values)}")


def cells_select(matrix: Matrix, words: Words) -> list[Cell]:
    """The cells that have one of the values of every word; UsageError where none has."""
    selector_check(matrix, words)
    cells = [cell for cell in matrix.cells.values()
             if all(cell.words.get(key) in value.split(",") for key, value in words.items())]
    if not cells:
        raise UsageError(f'no cell of {matrix.result.name} has "{words_text(words)}"')
    return cells
