# SPDX-License-Identifier: MIT
"""`uncork verify BLOCK RESULTS [RESULTS]`: checks every figure of a posted block against results.
`uncork verify REPORT.json RESULTS` checks every verdict of a report of claims."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from suite.base.errors import Failure, UsageError
from suite.decide.replays import systems_differences, systems_read, verdicts_of
from suite.observe.frame import Matrix, matrix_load
from suite.observe.metrics import METRICS
from suite.present.mail import parse
from suite.present.mail.block import cells_block, pair_block
from suite.present.tables.mail import block_lines
from suite.present.tables.model import Document
from suite.result.files import result_find


def text_read(name: str) -> str:
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
    metrics, heads = [METRICS[name] for name in posted.metrics], posted.heads
    if "cells" in heads:
        return cells_block(matrices[0], parse.side_words(heads["cells"]), metrics)
    base, new = (parse.side_words(heads.get(label, "")) for label in ("base", "new"))
    axis = heads["axis"].split(",") if "axis" in heads else ()
    return pair_block(matrices, base, new, metrics, axis, posted.geomean_all)


def block_verify(posted: parse.PostedBlock, matrices: Sequence[Matrix]) -> bool:
    """Prints whether a block is the same, and what is not; with symbols or without."""
    sides = " against ".join(posted.heads[label] for label in ("new", "base", "cells")
                             if label in posted.heads)
    try:
        block = block_recompute(posted, matrices)
    except UsageError as error:
        print(f"not the same: {sides} is not of this result: {error}")
        return False
    style = "md" if posted.is_markdown else "plain"
    deviations = min((parse.deviations_find(posted, block_lines(block, style, utf8))
                      for utf8 in (False, True)), key=len)
    print(*deviations, f"not the same: {len(deviations)} of {sides}" if deviations else
          f"the same: all {len(posted.words)} words of {sides}", sep="\n")
    return not deviations


def report_verify(report: Path, folders: Sequence[Path]) -> int:
    reported = systems_read(report)
    wrong = systems_differences(reported, [
        system for folder in folders for system in systems_read(folder)])
    print(*wrong, f"not the same: {len(wrong)} of {report}" if wrong else
          f"the same: all {len(verdicts_of(reported))} verdicts of {report}", sep="\n")
    return 1 if wrong else 0


def main(options: argparse.Namespace) -> int:
    """Prints whether each block in the text is the same. Returns 0 if all are, else 1."""
    if options.block.endswith(".json"):
        return report_verify(Path(options.block), list(map(Path, options.results)))
    if len(options.results) > 2:
        raise UsageError(f'"{options.results[2]}": a block is of one result or of two')
    text = text_read(options.block)
    blocks = parse.blocks_read(text)
    if not blocks:
        raise UsageError(f"{options.block}: no block of uncork paste in it "
                         "(it begins with base: and new:, or cells:)")
    matrices = [matrix_load(result_find(Path(folder))) for folder in options.results]
    for matrix in matrices:
        if matrix.result.damage_unknown:
            raise Failure(f"{matrix.result.folder / matrix.result.damage_unknown}")
    same = [block_verify(posted, matrices) for posted in blocks]
    return 0 if all(same) else 1
