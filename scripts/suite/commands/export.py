# SPDX-License-Identifier: MIT
"""`uncork export RESULTS [WORD...] [-o DIR]`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from suite.base import grouped
from suite.base.errors import UsageError
from suite.base.text import say
from suite.base.words import arguments_sort
from suite.observe.frame import Cell, Matrix, matrix_load
from suite.observe.histogram import Histogram
from suite.observe.machines import TIMES_INVALID
from suite.observe.measured import histogram_of
from suite.observe.selection import left_out_text, matrix_narrow
from suite.present.hgrm import hgrm_text
from suite.present.pictures.parts import name_safe
from suite.present.show import cell_choose, cells_text
from suite.result.files import file_write, output_folder


def missing_text(cells: Sequence[Cell], histogram: str) -> str:
    """Why these cells have no histogram, each with its reason if it has no good run."""
    named = grouped((
        TIMES_INVALID if cell.emulated else
        f"{cell.status} ({cell.reasons[0]})" if cell.reasons and not cell.runs_ok else
        f"no run has {histogram}", cell)
        for cell in sorted(cells, key=lambda cell: not cell.emulated))
    return "; ".join(f"{why}: {cells_text(found)}" for why, found in named.items())


def histograms_find(matrix: Matrix, cells: Sequence[Cell], histogram: str) -> dict[str, Histogram]:
    """The histogram of each cell, by name. Prints which cells have none; UsageError if all."""
    found = {cell.name: histogram_of(matrix.runs_good(cell.name), histogram) for cell in cells}
    missing = [cell for cell in cells if found[cell.name] is None]
    if len(missing) == len(cells):
        raise UsageError(f"{matrix.result.folder}: {missing_text(missing, histogram)}")
    if missing:
        say(f"left out, {missing_text(missing, histogram)}")
    return {name: merged for name, merged in found.items() if merged}


def files_name(matrix: Matrix, cells: Sequence[Cell], histogram: str) -> dict[str, Cell]:
    """The cells by the names of their files: the values of the words that vary, then the histogram
    unless it is latency. UsageError if two cells have the same name."""
    files: dict[str, Cell] = {}
    what = [] if histogram == "latency" else [histogram]
    for cell in cells:
        values = [value or "none" for value in cell.axes.values()] or [matrix.result.name]
        name = name_safe("-".join(values + what)) + ".hgrm"
        if name in files:
            raise UsageError(f"{files[name].text} and {cell.text} would both be "
                             f"{name}: export them one by one")
        files[name] = cell
    return files


def main(options: argparse.Namespace) -> None:
    asked = arguments_sort(options.results, options.words)
    matrix = matrix_load(options.results)
    if options.output == "-":
        cell = cell_choose(matrix, options.words, "export -o -")
        found = histograms_find(matrix, [cell], options.of)
        print(hgrm_text(found[cell.name], options.unit), end="")
        return
    matrix = matrix_narrow(matrix, asked.words)
    cells = [*matrix.cells.values()]
    histograms = histograms_find(matrix, cells, options.of)
    say(left_out_text(matrix, asked.words))
    files = files_name(matrix, [cell for cell in cells if cell.name in histograms], options.of)
    folder = Path(options.output) if options.output else output_folder(options.results) / "hgrm"
    folder.mkdir(parents=True, exist_ok=True)
    for name, cell in files.items():
        file_write(folder / name, hgrm_text(histograms[cell.name], options.unit))
        print(folder / name)
