# SPDX-License-Identifier: MIT
"""`uncork report RESULTS [RESULTS] [WORD...] [-o FILE]`."""

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from suite.base.errors import UsageError
from suite.base.text import say
from suite.base.words import arguments_sort
from suite.decide.claims import ClaimVerdict, claims_decide
from suite.decide.comparison.build import compare_baseline, compare_pair
from suite.decide.comparison.differences import refusals_check
from suite.decide.comparison.model import Comparison
from suite.decide.comparison.sides import metrics_choose
from suite.decide.summary import summary_build
from suite.observe.frame import Matrix, matrix_load
from suite.observe.metrics import Metric
from suite.observe.selection import layout_choose, left_out_text, matrix_narrow
from suite.present.mail.block import commands_of
from suite.present.pictures.forest import forest_draw
from suite.present.pictures.gnuplot import drawing_write
from suite.present.pictures.parts import Drawing
from suite.present.pictures.plot import drawings_make
from suite.present.report.drawings import RenderedDrawing
from suite.present.report.page import pair_page, result_page
from suite.result.files import file_write, output_folder, result_find, writable_check

NAME = "report.html"


def drawings_draw(drawings: Sequence[Drawing]) -> tuple[RenderedDrawing, ...]:
    """The pictures, drawn in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="uncork-") as folder:
        return tuple(RenderedDrawing(drawing, *(path.read_text(encoding="utf-8") for path in (
            drawing_write(drawing, Path(folder), ("svg", "txt"))))) for drawing in drawings)


def forest_drawn(comparisons: Sequence[Comparison]) -> tuple[RenderedDrawing, ...]:
    return drawings_draw(forest_draw(
        comparisons, f"changes-{comparisons[0].metrics[0].name}")) if comparisons else ()


def baseline_comparisons(matrix: Matrix, metrics: Sequence[Metric]) -> list[Comparison]:
    """The baseline against each other value, by the first of these metrics. If a cell is emulated,
    its times say nothing: then by the first metric that is no time."""
    hidden = any(cell.emulated for cell in matrix.cells.values())
    shown = [metric for metric in metrics if not (hidden and metric.timed)][:1]
    return compare_baseline(matrix, shown) if shown else []


@contextmanager
def refusal_noted(notes: list[str]) -> Iterator[None]:
    """If the body raises UsageError, the page lacks its result, and notes get the reason."""
    try:
        yield
    except UsageError as error:
        notes.append(f"left out: {error}")


def page_of_one(matrix: Matrix) -> str:
    notes, verdicts, comparisons = list[str](), list[ClaimVerdict](), list[Comparison]()
    asked = matrix.result.scenario.table
    layout = layout_choose(matrix, asked)
    summary = summary_build(matrix, layout.metrics, asked.gain, layout.best)
    with refusal_noted(notes):
        verdicts = claims_decide(matrix)
    with refusal_noted(notes):
        comparisons = baseline_comparisons(matrix, summary.metrics)
    figures = drawings_make(matrix, refused=notes.append)
    return result_page(summary, layout, verdicts, comparisons, commands_of(matrix),
                       drawings_draw(figures), forest_drawn(comparisons), notes)


def page_of_two(base: Matrix, new: Matrix, words: Mapping[str, str]) -> str:
    comparison = refusals_check(compare_pair([base.whole, new.whole], words, words,
                                             metrics_choose(base, None)))
    return pair_page(comparison, [*commands_of(base), *commands_of(new)],
                     forest_drawn([comparison]))


def uncork_report(options: argparse.Namespace) -> None:
    asked = arguments_sort(options.results, options.words, pair=True)
    path = Path(options.output) if options.output else (
        output_folder(result_find(asked.folders[-1])) / NAME)
    if options.output != "-":
        writable_check(path)  # before the pictures are drawn
    matrices = [matrix_narrow(matrix_load(folder), asked.words) for folder in asked.folders]
    page = page_of_one(matrices[0]) if len(matrices) == 1 else page_of_two(
        matrices[0], matrices[1], asked.words)
    for matrix in matrices:
        say(left_out_text(matrix, asked.words))
    if options.output == "-":
        print(page, end="")
        return
    file_write(path, page)
    print(path)
