# SPDX-License-Identifier: MIT
"""The commands that read results and print text: `uncork table`, `show`, `check`, `paste`,
`compare`, `export` and `verify`."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from suite.base import grouped
from suite.base.errors import Failure, UsageError
from suite.base.text import say, terminal_width
from suite.base.words import Arguments, arguments_sort, names_split, words_text
from suite.commands import COMMANDS
from suite.decide.claims import claims_decide, claims_status
from suite.decide.comparison.build import TimesInvalid, cells_alone, compare_pair, geomeans_every
from suite.decide.comparison.differences import refusals_check
from suite.decide.comparison.model import Comparison
from suite.decide.comparison.sides import (
    declared_read,
    metrics_choose,
    sides_chosen,
    sides_left_out,
)
from suite.decide.gate import NOTHING_COMPARED, Gate, gates_decide, gates_parse
from suite.decide.systems import systems_differences, systems_read, verdicts_of
from suite.observe.frame import Cell, Matrix, matrix_load
from suite.observe.histogram import Histogram
from suite.observe.machines import TIMES_INVALID
from suite.observe.measured import histogram_of
from suite.observe.metrics import METRICS
from suite.observe.selection import left_out_text, matrix_narrow
from suite.present.claims import tap_text
from suite.present.comparison import FORMATS
from suite.present.comparison.document import comparison_document
from suite.present.comparison.gate import gates_document
from suite.present.hgrm import hgrm_text
from suite.present.mail import parse
from suite.present.mail.block import blocks_build, cells_block, pair_block
from suite.present.pictures.parts import name_safe
from suite.present.show import cell_choose, cells_text, show_text
from suite.present.table import table_document
from suite.present.tables import RENDERERS, document_text
from suite.present.tables.mail import block_lines
from suite.present.tables.model import Document
from suite.result.files import file_write, output_folder, result_find
from suite.scenario.scenario import TableLayout


def matrix_asked(command: str, options: argparse.Namespace) -> tuple[Matrix, Arguments]:
    """The selected cells of one result, and the arguments that ask for them."""
    own = COMMANDS[command].own
    asked = arguments_sort(options.results, options.words, own)
    matrix = matrix_load(options.results, asked.own.get("margin"))
    return matrix_narrow(matrix, asked.words, own), asked


# ---- uncork table ----

def table_asked(own: Mapping[str, str], default: TableLayout) -> TableLayout:
    """The layout of the shell, which replaces that of the scenario; gain= replaces best=, too."""
    names = {key: names_split(key, value) for key, value in own.items() if key != "margin"}
    given = {key: own[key] for key in ("gain", "best") if key in own}
    asked = {key: name for key, name in given.items() if name != "off"}
    if len(asked) > 1:
        raise UsageError("a table has gain=... or best=..., not both")
    kept = {} if asked else {key: getattr(default, key) for key in ("gain", "best")
                             if key not in given}
    return TableLayout(names.get("rows", default.rows), names.get("columns", default.columns),
                       **(kept | asked))


def uncork_table(options: argparse.Namespace) -> None:
    matrix, asked = matrix_asked("table", options)
    layout = table_asked(asked.own, matrix.result.scenario.table)
    text = document_text(table_document(matrix, layout), options.format)
    say(left_out_text(matrix, asked.words))
    print(text, end="")


# ---- uncork show, check and paste ----

def uncork_show(options: argparse.Namespace) -> None:
    matrix = matrix_load(options.results)
    print(show_text(matrix, cell_choose(matrix, options.words), terminal_width()), end="")


def uncork_check(options: argparse.Namespace) -> int:
    matrix, asked = matrix_asked("check", options)
    verdicts = claims_decide(matrix)
    if matrix.result.scenario.claims and not verdicts:
        raise UsageError(
            f'no claim of {matrix.result.name} is only about "{words_text(asked.words)}"')
    say(left_out_text(matrix, asked.words))
    print(tap_text(verdicts), end="")
    return claims_status(verdicts)


def uncork_paste(options: argparse.Namespace) -> None:
    asked = arguments_sort(options.results, options.words, COMMANDS["paste"].own, pair=True)
    axis, every = declared_read(asked.own, len(asked.folders))
    matrices = [matrix_load(folder) for folder in asked.folders]
    blocks = [block_lines(block, options.style, options.utf8)
              for block in blocks_build(matrices, asked.selectors, asked.own.get("columns"),
                                        options.netdev, axis, every)]
    for matrix in matrices:
        say(sides_left_out(matrix, asked.selectors, len(matrices) == 1))
    print("\n\n".join("\n".join(lines) for lines in blocks))


# ---- uncork compare ----

def comparisons_build(matrices: Sequence[Matrix], asked: Arguments,
                      axis: Sequence[str], gates: Sequence[Gate]) -> list[Comparison]:
    """All comparisons that the arguments ask for; UsageError if there are none. Gates on figures,
    as opposed to changes, need no base."""
    metrics = tuple(dict.fromkeys(gate.metric for gate in gates)) or metrics_choose(
        matrices[0], asked.own.get("columns"))
    pairs = sides_chosen(matrices, asked.selectors, "compare")
    if not pairs:
        if gates and not any(gate.relative for gate in gates):
            return [cells_alone(matrices[0], asked.words, metrics)]
        raise UsageError(f"{matrices[0].result.folder}: nothing to compare: give one word two "
                         "values, write=nodelay write=cork, or another result")
    return [compare_pair(matrices, *pair, metrics, axis) for pair in pairs]


def uncork_compare(options: argparse.Namespace) -> int:
    asked = arguments_sort(options.results, options.words, COMMANDS["compare"].own, pair=True)
    tool = FORMATS.get(options.format)
    if tool and "columns" in asked.own and not tool.metrics:
        raise UsageError(f"--{options.format} always has the same metrics: "
                         f"leave out columns={asked.own['columns']}")
    axis, every = declared_read(asked.own, len(asked.folders))
    gates = gates_parse(options.fail_if)
    if gates and (tool or "columns" in asked.own or every):
        raise UsageError("--fail-if prints its gates: leave out columns=, geomean= and the formats "
                         f"of other tools ({', '.join(RENDERERS)} are right)")
    matrices = [matrix_load(folder, asked.own.get("margin")) for folder in asked.folders]
    try:
        comparisons = [refusals_check(one, axis, options.strict, options.force)
                       for one in comparisons_build(matrices, asked, axis, gates)]
    except TimesInvalid as error:
        error.status = NOTHING_COMPARED if gates else error.status
        raise
    comparisons = list(map(geomeans_every, comparisons)) if every else comparisons
    for matrix in matrices:
        say(sides_left_out(matrix, asked.selectors, len(matrices) == 1))
    if tool:
        print(tool.render(comparisons), end="")
        return 0
    decided = gates_decide(comparisons, gates)
    document = gates_document(decided, comparisons) if gates else comparison_document(comparisons)
    print(document_text(document, options.format), end="")
    return decided.status if gates else 0


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
    if options.output == "-":
        whole = matrix_load(options.results)
        cell = cell_choose(whole, options.words, "export -o -")
        found = histograms_find(whole, [cell], options.of)
        print(hgrm_text(found[cell.name], options.unit), end="")
        return
    matrix, asked = matrix_asked("export", options)
    cells = [*matrix.cells.values()]
    histograms = histograms_find(matrix, cells, options.of)
    say(left_out_text(matrix, asked.words))
    files = files_name(matrix, [cell for cell in cells if cell.name in histograms], options.of)
    folder = Path(options.output) if options.output else output_folder(options.results) / "hgrm"
    folder.mkdir(parents=True, exist_ok=True)
    for name, cell in files.items():
        file_write(folder / name, hgrm_text(histograms[cell.name], options.unit))
        print(folder / name)


# ---- uncork verify ----

def mail_read(name: str) -> str:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except FileNotFoundError:
        raise UsageError(f"{name}: no such file") from None
    except IsADirectoryError:
        raise UsageError(
            f"{name}: is a folder: the file with the block comes first, then RESULTS") from None
    return parse.mail_text(data)


def block_recompute(posted: parse.PostedBlock, matrices: Sequence[Matrix]) -> Document:
    """The block that `paste` makes now of the same sides and metrics; UsageError without them."""
    metrics = [METRICS[name] for name in posted.metrics]
    if cells := posted.head("cells"):
        return cells_block(matrices[0], parse.side_words(cells), metrics)
    base, new = (parse.side_words(posted.head(label)) for label in ("base", "new"))
    axis = posted.head("axis")
    return pair_block(matrices, base, new, metrics, axis.split(",") if axis else (),
                      posted.geomean_all)


def block_verify(posted: parse.PostedBlock, matrices: Sequence[Matrix]) -> bool:
    """Prints whether a block is the same, and what is not; with symbols or without."""
    sides = " against ".join(filter(None, map(posted.head, ("new", "base", "cells"))))
    try:
        block = block_recompute(posted, matrices)
    except UsageError as error:
        print(f"not the same: {sides} is not of this result: {error}")
        return False
    deviations = min((parse.deviations_find(posted, block_lines(block, utf8=utf8))
                      for utf8 in (False, True)), key=len)
    return same_print(deviations, sides, f"{len(posted.texts)} figures and texts")


def same_print(wrong: Sequence[str], what: str, every: str) -> bool:
    """Prints what is wrong, and whether all is the same. every: how much there is."""
    print(*wrong, f"not the same: {len(wrong)} of {what}" if wrong else
          f"the same: all {every} of {what}", sep="\n")
    return not wrong


def uncork_verify(options: argparse.Namespace) -> int:
    """Prints whether each block in the text, or each verdict of a report of claims, is the same.
    Returns 0 if all are, else 1."""
    folders = [*map(Path, options.results)]
    if options.block.endswith(".json"):
        reported = systems_read(Path(options.block))
        wrong = systems_differences(reported, [
            system for folder in folders for system in systems_read(folder)])
        return not same_print(wrong, options.block, f"{len(verdicts_of(reported))} verdicts")
    if len(folders) > 2:
        raise UsageError(f'"{folders[2]}": a block is of one result or of two')
    blocks = parse.blocks_read(mail_read(options.block))
    if not blocks:
        raise UsageError(f"{options.block}: no block of uncork paste in it "
                         "(it begins with base: and new:, or cells:)")
    matrices = [matrix_load(result_find(folder)) for folder in folders]
    for matrix in matrices:
        if matrix.result.damage_unknown:
            raise Failure(f"{matrix.result.folder / matrix.result.damage_unknown}")
    same = [block_verify(posted, matrices) for posted in blocks]
    return not all(same)
