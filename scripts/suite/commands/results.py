# SPDX-License-Identifier: MIT
"""What is in one result: `uncork table`, `show`, `check`, `plot` and `export`."""

import argparse
from collections.abc import Mapping, Sequence

from suite.base import grouped
from suite.base.errors import Failure, UsageError, error_in
from suite.base.text import say, terminal_width
from suite.base.words import Arguments, arguments_sort, names_split, words_text
from suite.decide.claims import claims_decide, claims_status
from suite.observe.frame import Cell, Matrix, matrix_load
from suite.observe.histogram import Histogram
from suite.observe.machines import TIMES_INVALID
from suite.observe.measured import histogram_of
from suite.observe.selection import left_out_text, matrix_narrow
from suite.present.claims import tap_text
from suite.present.comparison.hgrm import hgrm_text
from suite.present.pictures.gnuplot import drawing_write
from suite.present.pictures.parts import name_safe
from suite.present.pictures.plot import drawings_make
from suite.present.show import cell_choose, cells_text, show_text
from suite.present.table import table_document
from suite.present.tables import document_text
from suite.result.files import file_write, output_path
from suite.scenario.scenario import HISTOGRAMS, LOOKS, PICTURES, Picture, TableLayout
from suite.scenario.toml import choice_read


def matrix_asked(options: argparse.Namespace) -> tuple[Matrix, Arguments]:
    """The selected cells of one result, and the arguments that ask for them."""
    asked = arguments_sort(options.results, options.words, options.own)
    matrix = matrix_load(options.results, asked.own.get("margin"))
    return matrix_narrow(matrix, asked.words, options.own), asked


# ---- uncork table ----

def table_asked(own: Mapping[str, str], default: TableLayout) -> TableLayout:
    """The layout of the shell, which replaces that of the scenario; gain= replaces best=, too."""
    names = {key: names_split(key, value) for key, value in own.items() if key != "margin"}
    given = {key: own[key] for key in ("gain", "best") if key in own}
    asked = {key: name for key, name in given.items() if name != "off"}
    kept = {} if asked else {key: getattr(default, key) for key in ("gain", "best")
                             if key not in given}
    return TableLayout(names.get("rows", default.rows), names.get("columns", default.columns),
                       **(kept | asked))


def uncork_table(options: argparse.Namespace) -> None:
    matrix, asked = matrix_asked(options)
    layout = table_asked(asked.own, matrix.result.scenario.table)
    text = document_text(table_document(matrix, layout), options.format)
    say(left_out_text(matrix, asked.words))
    print(text, end="")


# ---- uncork show and check ----

def uncork_show(options: argparse.Namespace) -> None:
    matrix = matrix_load(options.results)
    print(show_text(matrix, cell_choose(matrix, options.words), terminal_width()), end="")


def uncork_check(options: argparse.Namespace) -> int:
    matrix, asked = matrix_asked(options)
    verdicts = claims_decide(matrix)
    if matrix.result.scenario.claims and not verdicts:
        raise UsageError(
            f'no claim of {matrix.result.name} is only about "{words_text(asked.words)}"')
    say(left_out_text(matrix, asked.words))
    print(tap_text(verdicts), end="")
    return claims_status(verdicts)


# ---- uncork plot ----

def pictures_asked(own: Mapping[str, str]) -> list[Picture]:
    """Each kind of picture that the words ask for, with each metric or histogram that it takes."""
    chosen = {key: names_split(key, value) for key, value in own.items()}
    if len(chosen.get("x", ())) > 1:
        raise UsageError(f'"x={own["x"]}": x takes one word')
    if own and "kind" not in own:
        key, value = next(iter(own.items()))
        raise UsageError(f'"{key}={value}": add the kind of picture, kind={"|".join(PICTURES)}')
    kinds = [choice_read(PICTURES, kind, "kind") for kind in chosen.get("kind", ())]
    taken = {"kind", "x", *map(PICTURES.get, kinds)}
    unused = next((key for key in own if key not in taken), None)
    if unused:
        raise UsageError(f'"{unused}={own[unused]}": no picture of kind={own["kind"]} takes it')
    for name in chosen.get("of", ()):
        choice_read(HISTOGRAMS, name, "of")
    pictures = list[Picture]()
    for kind in kinds:
        shown = PICTURES[kind] or ""
        what = [{shown: name} for name in chosen.get(shown, ())]
        pictures += [Picture(kind, x=own.get("x"), **one) for one in what or [{}]]
    return pictures


def uncork_plot(options: argparse.Namespace) -> None:
    if options.output == "-":
        raise UsageError("-o -: a picture is several files: give a folder")
    matrix, asked = matrix_asked(options)
    looks = {}
    for key, value in asked.own.items():
        if key in LOOKS:
            with error_in(f'"{key}={value}": '):
                looks[key] = LOOKS[key](value, key)
    pictures = pictures_asked({key: value for key, value in asked.own.items() if key not in LOOKS})
    drawings = drawings_make(matrix, pictures, say, looks)
    if not drawings:
        raise Failure("no picture of the scenario can be drawn from this result: "
                      "choose one, kind=bars")
    say(left_out_text(matrix, asked.words))
    folder = output_path(options.output, options.results, "plots")
    folder.mkdir(parents=True, exist_ok=True)
    for drawing in drawings:
        for path in drawing_write(drawing, folder):
            print(path)


# ---- uncork export ----

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


def uncork_export(options: argparse.Namespace) -> None:
    matrix, asked = matrix_asked(options)
    if options.output == "-":
        cell = cell_choose(matrix, options.words)
        histograms = histograms_find(matrix, [cell], options.of)
        print(hgrm_text(histograms[cell.name], options.unit), end="")
        return
    histograms = histograms_find(matrix, [*matrix.cells.values()], options.of)
    say(left_out_text(matrix, asked.words))
    files = files_name(matrix, [matrix.cells[name] for name in histograms], options.of)
    folder = output_path(options.output, options.results, "hgrm")
    folder.mkdir(parents=True, exist_ok=True)
    for name, cell in files.items():
        file_write(folder / name, hgrm_text(histograms[cell.name], options.unit))
        print(folder / name)
