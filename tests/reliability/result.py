# SPDX-License-Identifier: MIT
"""What the parts have in common: their options, a table of rows in a file, and their last line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Row = dict[str, Any]  # with "wrong": what is wrong in it, empty if nothing is


def part_main(name: str, about: str, rows_make: Callable[[bool], list[Row]],
              title: Callable[[Row], str]) -> int:
    """Runs a part with the options of the command line. The status is 1 if a row is wrong."""
    parser = argparse.ArgumentParser(prog=f"tests/reliability/run {name}", description=about)
    parser.add_argument("--quick", action="store_true", help="a part of the rows")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to FILE")
    given = parser.parse_args()
    rows = rows_make(given.quick)
    if given.json:
        given.json.write_text(json.dumps({"quick": given.quick, "rows": rows}, indent=1) + "\n")
    wrong = [row for row in rows if row["wrong"]]
    for row in wrong:
        print(f"wrong: {title(row)}: {row['wrong']}", file=sys.stderr)
    print(f"{len(rows)} {name}, {len(wrong)} wrong")
    return 1 if wrong else 0
