# SPDX-License-Identifier: MIT
"""`uncork table RESULTS [rows=...] [columns=...] [gain=...] [best=...] [WORD...]`."""

import argparse
from collections.abc import Mapping

from suite.base.errors import UsageError
from suite.base.text import say
from suite.base.words import arguments_sort, names_split
from suite.commands import COMMANDS
from suite.observe.frame import matrix_load
from suite.observe.selection import left_out_text, matrix_narrow
from suite.present.table import table_document
from suite.present.tables import document_text
from suite.scenario.scenario import TableLayout

TABLE_WORDS = COMMANDS["table"].own


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


def main(options: argparse.Namespace) -> None:
    asked = arguments_sort(options.results, options.words, TABLE_WORDS)
    matrix = matrix_narrow(matrix_load(options.results, asked.own.get("margin")), asked.words,
                           TABLE_WORDS)
    table = table_asked(asked.own, matrix.result.scenario.table)
    text = document_text(table_document(matrix, table), options.format)
    say(left_out_text(matrix, asked.words))
    print(text, end="")
