# SPDX-License-Identifier: MIT
"""Builds the blocks that `paste` prints and `verify` recomputes: sides and words above, a table for
each metric, and below these how and where it was measured."""

from collections.abc import Sequence
from dataclasses import replace

from suite.base.errors import UsageError
from suite.base.runner_words import BUILD
from suite.base.text import say
from suite.base.words import words_split, words_text
from suite.decide.comparison.build import compare_pair, geomeans_every
from suite.decide.comparison.differences import axis_hint, declared_check
from suite.decide.comparison.model import Comparison, Side
from suite.decide.comparison.sides import metrics_choose, sides_chosen, words_join
from suite.decide.replays import metrics_claimed
from suite.decide.summary import summary_build
from suite.observe.frame import Matrix
from suite.observe.measured import STREAMS
from suite.observe.metrics import METRICS, Metric
from suite.observe.selection import Selection, cells_select
from suite.present.comparison.wording import side_text
from suite.present.heading import words_common
from suite.present.mail.command import commands_join, commands_of
from suite.present.mail.figures import cells_tables, comparison_tables
from suite.present.mail.foot import cells_remarks, comparison_remarks, coverage_remarks, foot_pairs
from suite.present.tables.model import Document, Section
from suite.result.plan import revision_of

EVERYTHING = "everything"  # the name of a side without words
# the columns that reviewers of netdev ask for, besides throughput
NETDEV = ("client_cpu_per_message", "server_cpu_per_message", "retransmits_per_message")


def sides_name(base: Side, new: Side) -> tuple[str, str]:
    """The names of both sides in a block: builds have their revisions if these differ."""
    named = [replace(side, name=revision_of(side.matrix.result.plan, side.words))
             for side in (base, new)]
    builds = (BUILD in base.words and all(side.name for side in named)
              and named[0].name != named[1].name)
    first, second = (side_text(side) or EVERYTHING
                     for side in (named if builds else (base, new)))
    return first, second


def comparison_block(comparison: Comparison, commands: Sequence[Sequence[str]],
                     declared: Sequence[str] = ()) -> Document:
    """The block of two sides; UsageError without a change to show. declared: the axis."""
    cells = [cell for _, _, cell in comparison.cells()]
    in_sides = comparison.base.words.keys() & comparison.new.words.keys()  # stand in base and new
    words = words_common(cells, [*comparison.axes, *in_sides])
    heads = list(zip(("base", "new"), sides_name(*comparison.sides), strict=True))
    if not any(row.changes for row in comparison.rows):
        raise UsageError(f"{' and '.join(text for _, text in heads)} have no "
                         f"{' or '.join(metric.name for metric in comparison.metrics)} to compare")
    heads += [("axis", ",".join(declared))] if declared else []
    heads += [("with", words_text(words))] if words else []
    # Of two results the foot describes the base; `differs` says what is not the same for new.
    measured = [cell for _, side, cell in comparison.cells()
                if comparison.within or side is comparison.base]
    tables = comparison_tables(comparison)
    foot = foot_pairs(comparison.base.matrix, measured, tables, comparison_remarks(comparison),
                      comparison)
    return Document("", [Section(heads, tables)], foot, commands=commands)


def pair_block(matrices: Sequence[Matrix], base: Selection, new: Selection,
               metrics: Sequence[Metric], declared: Sequence[str] = (),
               geomean_all: bool = False) -> Document:
    """The block of two sides of one result, or of two results. UsageError where a ratio between the
    sides has no meaning. declared: the axis of the comparison."""
    comparison = compare_pair(matrices, base, new, metrics, declared)
    declared_check(comparison, declared)
    for difference in comparison.refusing:
        raise UsageError(
            f"{difference.text}: ratios across that say nothing, and none are posted"
            f"{axis_hint(comparison, declared, [difference])}")
    comparison = geomeans_every(comparison) if geomean_all else comparison
    return comparison_block(comparison, commands_join(list(map(commands_of, matrices))), declared)


def cells_block(matrix: Matrix, words: Selection, metrics: Sequence[Metric]) -> Document:
    """The block of the cells with these words, without any comparison."""
    summary = summary_build(matrix, tuple(metric.name for metric in metrics))
    cells = cells_select(matrix, words)
    axes = tuple(axis for axis in matrix.axes
                 if len({cell.axes[axis] for cell in cells}) > 1)
    common = words_common(cells, [*axes, *words])
    tables = cells_tables(summary, axes, [cell.name for cell in cells])
    if not tables:
        raise UsageError(f"no good run of {words_text(words) or matrix.result.name} knows "
                         f"{' or '.join(metric.name for metric in metrics)}")
    remarks = [*cells_remarks(cells), *coverage_remarks(matrix, cells, metrics)]
    heads = [("cells", words_text(words) or "all")]
    heads += [("with", words_text(common))] if common else []
    return Document("", [Section(heads, tables)], foot_pairs(matrix, cells, tables, remarks),
                    commands=commands_of(matrix))


def netdev_metrics(matrices: Sequence[Matrix]) -> list[Metric]:
    """Throughput (bandwidth of streams, else messages per second) and NETDEV, as far as known."""
    streams = dict.fromkeys(cell.words.get("workload") in STREAMS
                            for matrix in matrices for cell in matrix.cells.values())
    throughput = ["bandwidth" if stream else "messages_per_second" for stream in streams]
    asked = [METRICS[name] for name in (*throughput, *NETDEV)]
    known = [metric for metric in asked
             if any(matrix.frame[metric.name].notna().any() for matrix in matrices)]
    unknown = ", ".join(metric.name for metric in asked if metric not in known)
    say(f"left out: no run knows {unknown}" if known and unknown else "")
    return known or asked


def blocks_build(matrices: Sequence[Matrix], selectors: Sequence[str], columns: str | None = None,
                 netdev: bool = False, declared: Sequence[str] = (),
                 geomean_all: bool = False) -> list[Document]:
    """The block of each pair of sides, or of cells without a pair. Standard error names a pair with
    nothing to show. UsageError if no pair has a block. Published claims have one block with the
    metrics that they name, unless the arguments choose others. selectors, columns: as typed.
    netdev: the columns for that list. declared: the axis of the comparison of two results."""
    if netdev and columns is not None:
        raise UsageError(f"--netdev chooses the columns: leave out columns={columns}")
    scenario = matrices[0].result.scenario
    asked = selectors or netdev or geomean_all or columns is not None
    if scenario.origin and len(matrices) == 1 and not asked:
        return [cells_block(matrices[0], {}, metrics_claimed(scenario))]
    metrics = netdev_metrics(matrices) if netdev else metrics_choose(matrices[0], columns)
    pairs = sides_chosen(matrices, selectors, "paste")
    if not pairs:
        return [cells_block(matrices[0], words_join(
            [words_split(selector.split(), "paste: ") for selector in selectors]), metrics)]
    blocks, errors = [], []
    for base, new in pairs:
        try:
            blocks.append(pair_block(matrices, base, new, metrics, declared, geomean_all))
        except UsageError as error:
            errors.append(error)
    if not blocks:
        raise errors[0]
    for left_out in errors:
        say(f"left out: {left_out}")
    return blocks
