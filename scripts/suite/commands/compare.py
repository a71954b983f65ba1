# SPDX-License-Identifier: MIT
"""What differs, and how to write about it: `uncork compare`, `paste`, `verify` and `report`."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from suite.base.errors import Failure, UsageError
from suite.base.text import say
from suite.base.words import Arguments, arguments_sort
from suite.decide.claims import claims_decide
from suite.decide.comparison import build, sides
from suite.decide.comparison.differences import refusals_check
from suite.decide.comparison.model import Comparison
from suite.decide.gate import NOTHING_COMPARED, Gate, gates_decide, gates_parse
from suite.decide.replays import systems_differences, systems_read, verdicts_of
from suite.decide.summary import summary_build
from suite.observe.frame import Matrix, matrix_load
from suite.observe.metrics import METRICS, Metric
from suite.observe.selection import layout_choose, left_out_text, matrix_narrow
from suite.present.comparison import FORMATS
from suite.present.comparison.document import comparison_document
from suite.present.comparison.gate import gates_document
from suite.present.mail import block, parse
from suite.present.pictures.forest import forest_draw
from suite.present.pictures.gnuplot import drawing_write
from suite.present.pictures.parts import Drawing
from suite.present.pictures.plot import drawings_make
from suite.present.report.drawings import RenderedDrawing
from suite.present.report.page import pair_page, result_page
from suite.present.tables import RENDERERS, document_text
from suite.present.tables.mail import block_lines
from suite.present.tables.model import Document
from suite.result.files import file_write, output_path, result_find, writable_check
from suite.scenario.scenario import Picture

# ---- uncork compare ----

def comparisons_build(matrices: Sequence[Matrix], asked: Arguments,
                      axis: Sequence[str], gates: Sequence[Gate]) -> list[Comparison]:
    """All comparisons that the arguments ask for; UsageError if there are none. Gates on figures,
    as opposed to changes, need no base."""
    metrics = tuple(dict.fromkeys(gate.metric for gate in gates)) or sides.metrics_choose(
        matrices[0], asked.own.get("columns"))
    pairs = sides.sides_chosen(matrices, asked.selectors, "compare")
    if not pairs:
        if gates and not any(gate.relative for gate in gates):
            return [build.cells_alone(matrices[0], asked.words, metrics)]
        raise UsageError(f"{matrices[0].result.folder}: nothing to compare: give one word two "
                         "values, write=nodelay write=cork, or another result")
    return [build.compare_pair(matrices, *pair, metrics, axis) for pair in pairs]


def uncork_compare(options: argparse.Namespace) -> int:
    asked = arguments_sort(options.results, options.words, options.own, pair=True)
    tool = FORMATS.get(options.format)
    if tool and "columns" in asked.own and not tool.metrics:
        raise UsageError(f"--{options.format} always has the same metrics: "
                         f"leave out columns={asked.own['columns']}")
    axis, every = sides.declared_read(asked.own, len(asked.folders))
    gates = gates_parse(options.fail_if)
    if gates and (tool or "columns" in asked.own or every):
        raise UsageError("--fail-if prints its gates: leave out columns=, geomean= and the formats "
                         f"of other tools ({', '.join(RENDERERS)} are right)")
    matrices = [matrix_load(folder, asked.own.get("margin")) for folder in asked.folders]
    try:
        comparisons = [refusals_check(one, axis, options.strict, options.force)
                       for one in comparisons_build(matrices, asked, axis, gates)]
    except build.TimesInvalid as error:
        error.status = NOTHING_COMPARED if gates else error.status
        raise
    comparisons = list(map(build.geomeans_every, comparisons)) if every else comparisons
    for matrix in matrices:
        say(sides.sides_left_out(matrix, asked.selectors, len(matrices) == 1))
    if tool:
        print(tool.render(comparisons), end="")
        return 0
    decided = gates_decide(comparisons, gates)
    document = gates_document(decided, comparisons) if gates else comparison_document(comparisons)
    print(document_text(document, options.format), end="")
    return decided.status if gates else 0


# ---- uncork paste and verify ----

def uncork_paste(options: argparse.Namespace) -> None:
    asked = arguments_sort(options.results, options.words, options.own, pair=True)
    axis, every = sides.declared_read(asked.own, len(asked.folders))
    matrices = [matrix_load(folder) for folder in asked.folders]
    blocks = [block_lines(one, options.style, options.utf8)
              for one in block.blocks_build(matrices, asked.selectors, asked.own.get("columns"),
                                            options.netdev, axis, every)]
    for matrix in matrices:
        say(sides.sides_left_out(matrix, asked.selectors, len(matrices) == 1))
    print("\n\n".join("\n".join(lines) for lines in blocks))


def mail_read(name: str) -> str:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except (FileNotFoundError, IsADirectoryError) as error:
        raise UsageError(f"{name}: {error.strerror}: the file with the block comes first, then "
                         "RESULTS") from None
    return parse.mail_text(data)


def block_recompute(posted: parse.PostedBlock, matrices: Sequence[Matrix]) -> Document:
    """The block that `paste` makes now of the same sides and metrics; UsageError without them."""
    metrics, heads = [METRICS[name] for name in posted.metrics], posted.heads
    if "cells" in heads:
        return block.cells_block(matrices[0], parse.side_words(heads["cells"]), metrics)
    base, new = (parse.side_words(heads.get(label, "")) for label in ("base", "new"))
    axis = heads["axis"].split(",") if "axis" in heads else ()
    return block.pair_block(matrices, base, new, metrics, axis, posted.geomean_all)


def block_verify(posted: parse.PostedBlock, matrices: Sequence[Matrix]) -> bool:
    """Prints whether a block is the same, and what is not; with symbols or without."""
    what = " against ".join(posted.heads[label] for label in ("new", "base", "cells")
                            if label in posted.heads)
    try:
        document = block_recompute(posted, matrices)
    except UsageError as error:
        print(f"not the same: {what} is not of this result: {error}")
        return False
    style = "md" if posted.is_markdown else "plain"
    deviations = min((parse.deviations_find(posted, block_lines(document, style, utf8))
                      for utf8 in (False, True)), key=len)
    return same_print(deviations, what, f"{len(posted.words)} words")


def same_print(wrong: Sequence[str], what: str, every: str) -> bool:
    """Prints what is wrong, and whether all is the same. every: how much there is."""
    print(*wrong, f"not the same: {len(wrong)} of {what}" if wrong else
          f"the same: all {every} of {what}", sep="\n")
    return not wrong


def uncork_verify(options: argparse.Namespace) -> int:
    """Prints whether each block, or verdict of a report of claims, is the same; 0 if all are."""
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


# ---- uncork report ----

def drawings_draw(drawings: Sequence[Drawing]) -> tuple[RenderedDrawing, ...]:
    """The pictures, drawn in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="uncork-") as folder:
        return tuple(RenderedDrawing(drawing, *(path.read_text(encoding="utf-8") for path in (
            drawing_write(drawing, Path(folder), ("svg", "txt"))))) for drawing in drawings)


def forest_drawn(comparisons: Sequence[Comparison]) -> tuple[RenderedDrawing, ...]:
    return drawings_draw(forest_draw(comparisons, Picture(
        "forest", name=f"changes-{comparisons[0].metrics[0].name}"))) if comparisons else ()


def baseline_comparisons(matrix: Matrix, metrics: Sequence[Metric]) -> list[Comparison]:
    """The baseline against each other value, by the first of these metrics. If a cell is emulated,
    its times say nothing: then by the first metric that is no time."""
    hidden = any(cell.emulated for cell in matrix.cells.values())
    shown = [metric for metric in metrics if not (hidden and metric.timed)][:1]
    return build.compare_baseline(matrix, shown) if shown else []


def if_possible(make: Callable[[], list[Any]], notes: list[str]) -> list[Any]:
    """What make() returns; if it raises UsageError, the page has none, and notes get the reason."""
    try:
        return make()
    except UsageError as error:
        notes.append(f"left out: {error}")
        return []


def page_of_one(matrix: Matrix) -> str:
    notes, asked = list[str](), matrix.result.scenario.table
    layout = layout_choose(matrix, asked)
    summary = summary_build(matrix, layout.metrics, asked.gain, layout.best)
    verdicts = if_possible(lambda: claims_decide(matrix), notes)
    comparisons = if_possible(lambda: baseline_comparisons(matrix, summary.metrics), notes)
    figures = drawings_make(matrix, refused=notes.append)
    return result_page(summary, layout, verdicts, comparisons, block.commands_of(matrix),
                       drawings_draw(figures), forest_drawn(comparisons), notes)


def page_of_two(base: Matrix, new: Matrix, words: Mapping[str, str]) -> str:
    comparison = refusals_check(build.compare_pair(
        [base.whole, new.whole], words, words, sides.metrics_choose(base, None)))
    return pair_page(comparison, [*block.commands_of(base), *block.commands_of(new)],
                     forest_drawn([comparison]))


def uncork_report(options: argparse.Namespace) -> None:
    asked = arguments_sort(options.results, options.words, pair=True)
    path = output_path(options.output, result_find(asked.folders[-1]), "report.html")
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
