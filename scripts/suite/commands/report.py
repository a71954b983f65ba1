# SPDX-License-Identifier: MIT
"""`uncork report RESULTS [-o FILE]`."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from suite.claims import claims_decide
from suite.commands.plot import drawing_write
from suite.errors import UsageError
from suite.frame import Matrix, matrix_build
from suite.pictures.plot import drawings_make
from suite.report.drawings import Drawn
from suite.report.page import page_make
from suite.results import result_load
from suite.scenario import Table
from suite.summary import summary_build
from suite.table import layout_choose

HELP = "a result as one page of HTML: verdicts, tables, pictures, machines, commands"


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `uncork report`."""
    parser.add_argument("results", type=Path, metavar="RESULTS", help="folder of a result")
    parser.add_argument("-o", dest="file", type=Path, metavar="FILE",
                        help="where the page goes (default: report.html in RESULTS)")


def drawings_draw(matrix: Matrix) -> list[Drawn]:
    """Every picture of a result, drawn in a folder that is gone afterwards."""
    drawn = []
    with tempfile.TemporaryDirectory(prefix="uncork-") as name:
        folder = Path(name)
        for drawing in drawings_make(matrix):
            drawing_write(drawing, folder)
            drawn.append(Drawn(drawing, (folder / f"{drawing.name}.svg").read_text(encoding="utf-8"),
                               (folder / f"{drawing.name}.txt").read_text(encoding="utf-8")))
    return drawn


def page_write(path: Path, text: str) -> None:
    """Replaces a page as a whole: a reader finds the old one or the new one."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(text, encoding="utf-8")
    os.replace(fresh, path)


def main(options: argparse.Namespace) -> int:
    """Writes the page and prints its name."""
    matrix = matrix_build(result_load(options.results))
    path = options.file or options.results / "report.html"
    if path.is_dir():
        raise UsageError(f"-o {path} is a folder: give the name of a file")
    asked = matrix.result.scenario.table or Table()
    layout = layout_choose(matrix, asked)
    summary = summary_build(matrix, layout.metrics, asked.gain, layout.best)
    page_write(path, page_make(summary, layout, claims_decide(matrix), drawings_draw(matrix)))
    print(path)
    return 0
