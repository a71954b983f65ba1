# SPDX-License-Identifier: MIT
"""`uncork table RESULTS [rows=...] [columns=...] [gain=...] [best=...]`."""

from __future__ import annotations

import argparse
from pathlib import Path

from suite.analyse.arrangement import layout_choose
from suite.analyse.frame import matrix_build
from suite.analyse.results import result_load
from suite.analyse.summary import summary_build
from suite.base.errors import UsageError, nearest_hint
from suite.base.text import terminal_width
from suite.present.table import document_build
from suite.present.tables import RENDERERS, TERMINAL
from suite.scenario.scenario import Table

HELP = "a result as a table: medians with intervals, beside what others published"
WORDS = ("rows", "columns", "gain", "best")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `uncork table`."""
    parser.add_argument("results", type=Path, metavar="RESULTS", help="folder of a result")
    parser.add_argument("words", nargs="*", default=[], metavar="WORD",
                        help="rows=place,write columns=time_per_message,segments_per_message; "
                             "gain=METRIC: of it pre, post and gain over the baseline; "
                             "best=WORD: its best value by the first metric; gain=off, best=off")
    style = parser.add_mutually_exclusive_group()
    for name, renderer in RENDERERS.items():
        style.add_argument(f"--{name}", dest="format", action="store_const", const=name,
                           help=renderer.means)


def words_read(words: list[str], default: Table | None) -> Table:
    """rows=, columns=, gain= and best= of the shell over those of the scenario, whose gain gives
    way to a best and the other way round."""
    chosen: dict[str, tuple[str, ...]] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in WORDS:
            raise UsageError(f'"{word}": table takes rows=..., columns=..., gain=... and best=...'
                             f"{nearest_hint(key, WORDS) if equals else ''}")
        names = tuple(value.split(","))
        if key in chosen or len(set(names)) < len(names):
            raise UsageError(f'"{word}": {key if key in chosen else "a name"} is given twice')
        if "" in names:
            raise UsageError(f'"{word}": an empty name')
        chosen[key] = names
    default = default or Table()
    given = {key: ",".join(chosen[key]) for key in ("gain", "best") if key in chosen}
    asked = {key: name for key, name in given.items() if name != "off"}
    if len(asked) > 1:
        raise UsageError("a table has gain=... or best=..., not both")
    kept = {} if asked else {key: getattr(default, key) for key in ("gain", "best")
                             if key not in given}
    return Table(chosen.get("rows", default.rows), chosen.get("columns", default.columns),
                 **(kept | asked))


def main(options: argparse.Namespace) -> int:
    """Prints the table."""
    result = result_load(options.results)
    asked = words_read(options.words, result.scenario.table)
    matrix = matrix_build(result)
    layout = layout_choose(matrix, asked)
    summary = summary_build(matrix, layout.metrics, asked.gain, layout.best)
    render = RENDERERS[options.format].render if options.format else TERMINAL
    print(render(document_build(summary, layout), terminal_width()), end="")
    return 0
