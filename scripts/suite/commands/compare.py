# SPDX-License-Identifier: MIT
"""`uncork compare RESULTS [RESULTS] [WORD...]`."""

import argparse
from collections.abc import Sequence

from suite.base.errors import UsageError
from suite.base.text import say
from suite.base.words import Arguments, arguments_sort
from suite.commands import COMMANDS
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
from suite.observe.frame import Matrix, matrix_load
from suite.present.comparison import FORMATS
from suite.present.comparison.document import comparison_document
from suite.present.comparison.gate import gates_document
from suite.present.tables import RENDERERS, document_text


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


def main(options: argparse.Namespace) -> int:
    asked = arguments_sort(options.results, options.words, COMMANDS["compare"].own, pair=True)
    if options.format in FORMATS and "columns" in asked.own and not FORMATS[
            options.format].metrics:
        raise UsageError(f"--{options.format} always has the same metrics: "
                         f"leave out columns={asked.own['columns']}")
    axis, every = declared_read(asked.own, len(asked.folders))
    gates = gates_parse(options.fail_if)
    if gates and (options.format in FORMATS or "columns" in asked.own or every):
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
    if options.format in FORMATS:
        print(FORMATS[options.format].render(comparisons), end="")
        return 0
    decided = gates_decide(comparisons, gates)
    document = gates_document(decided, comparisons) if gates else comparison_document(comparisons)
    print(document_text(document, options.format), end="")
    return decided.status if gates else 0
