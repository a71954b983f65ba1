# SPDX-License-Identifier: MIT
"""Which cells some words select. Pure; every command that reads a result asks here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from suite.analyse.frame import Cell, Matrix, cells_compared
from suite.base.errors import UsageError, nearest_hint
from suite.base.words import words_text

Selection = Mapping[str, str]


def selector_check(matrix: Matrix, words: Selection, own: Iterable[str] = ()) -> None:
    """UsageError for a word or a value that no cell of the result has. own: words of the
    command."""
    for key, value in words.items():
        values = dict.fromkeys(cell.words[key] for cell in matrix.whole.cells.values()
                               if key in cell.words)
        if not values:
            known = [key for cell in matrix.cells.values() for key in cell.words]
            hint = nearest_hint(key, dict.fromkeys([*known, *own])) or (
                f" (here vary {', '.join(matrix.axes)})" if matrix.axes else "")
            raise UsageError(f'"{key}={value}": no word {key} in {matrix.result.name}{hint}')
        missing = next((part for part in value.split(",") if part not in values), None)
        if missing is not None:
            raise UsageError(f'"{key}={value}": no cell of {matrix.result.name} has {key}={missing}'
                             f"{nearest_hint(missing, values)}")


def cells_select(matrix: Matrix, words: Selection, own: Iterable[str] = ()) -> list[Cell]:
    """The cells that have one of the values of every word, of a narrowed matrix those that are
    shown and their baselines; UsageError where none has."""
    selector_check(matrix, words, own)
    cells = [cell for cell in cells_compared(matrix)
             if all(cell.words.get(key) in value.split(",") for key, value in words.items())]
    if not cells:
        raise UsageError(f'no cell of {matrix.result.name} has "{words_text(words)}"')
    return cells


def matrix_narrow(matrix: Matrix, words: Selection, own: Iterable[str] = ()) -> Matrix:
    """The matrix that shows only the cells which words select; UsageError where there is none.

    Ratios, verdicts and noise floors stay those of all cells. own: words of the command, for hints.
    """
    if not words:
        return matrix
    cells = cells_select(matrix, words, own)
    return replace(matrix, cells={cell.name: cell for cell in cells}, narrowed=matrix)


def left_out_text(matrix: Matrix, words: Selection) -> str:
    """How many cells of a narrowed matrix are not shown; empty where all are."""
    left, every = len(matrix.whole.cells) - len(matrix.cells), len(matrix.whole.cells)
    if not left:
        return ""
    return f"left out {left} of {every} cells of {matrix.result.name}: not {words_text(words)}"
