# SPDX-License-Identifier: MIT
"""Finished blocks, those that words of the shell ask for or that a posted block was: sides and
words above, a table for each metric, and below how and where it was measured."""

from collections.abc import Sequence
from dataclasses import replace

from suite.analyse.comparison.build import compare_cells, compare_results, geomeans_every
from suite.analyse.comparison.differences import axis_hint, declared_check, differences_refusing
from suite.analyse.comparison.model import Comparison, Side
from suite.analyse.comparison.sides import metrics_choose, sides_between, sides_within, words_join
from suite.analyse.frame import Matrix
from suite.analyse.measured import STREAMS
from suite.analyse.metrics import METRICS, Metric
from suite.analyse.selection import Selection, cells_select
from suite.analyse.summary import summary_build
from suite.base.errors import UsageError
from suite.base.runner_words import BUILD
from suite.base.text import say
from suite.base.words import words_split, words_text
from suite.present.comparison.wording import side_text
from suite.present.heading import words_common
from suite.present.mail.command import commands_join, commands_of
from suite.present.mail.figures import cells_tables, comparison_tables
from suite.present.mail.foot import cells_remarks, comparison_remarks, foot_pairs, known_remarks
from suite.present.tables.model import Document, Section
from suite.result.plan import revision_of

EVERYTHING = "everything"  # a side that nothing narrows
# the columns that reviewers of netdev ask for, behind how much got through
NETDEV = ("client_cpu_per_message", "server_cpu_per_message", "retransmits_per_message")


def sides_name(base: Side, new: Side) -> tuple[str, str]:
    """Both sides for the heads: two builds by their revisions, if these differ, else by name."""
    named = [replace(side, name=revision_of(side.matrix.result.plan, side.words))
             for side in (base, new)]
    builds = (BUILD in base.words and all(side.name for side in named)
              and named[0].name != named[1].name)
    first, second = (side_text(side) or EVERYTHING
                     for side in (named if builds else (base, new)))
    return first, second


def comparison_block(comparison: Comparison, commands: Sequence[Sequence[str]],
                     declared: Sequence[str] = ()) -> Document:
    """The block of two sides; commands are those that measure them. declared: what it is about.
    UsageError where there is nothing to show."""
    cells = [cell for _, _, cell in comparison.cells()]
    told = comparison.base.words.keys() & comparison.new.words.keys()  # of both sides, above
    words = words_common(cells, [*comparison.axes, *told])
    heads = list(zip(("base", "new"), sides_name(*comparison.sides), strict=True))
    if not any(row.changes for row in comparison.rows):
        raise UsageError(f"{' and '.join(text for _, text in heads)} have no "
                         f"{' or '.join(metric.name for metric in comparison.metrics)} to compare")
    heads += [("axis", ",".join(declared))] if declared else []
    heads += [("with", words_text(words))] if words else []
    # of two results those of the base: what differs says the rest
    measured = [cell for _, side, cell in comparison.cells()
                if comparison.within or side is comparison.base]
    tables = comparison_tables(comparison)
    foot = foot_pairs(comparison.base.matrix, measured, tables, comparison_remarks(comparison),
                      comparison)
    return Document("", [Section(heads, tables)], foot, commands=commands)


def pair_block(matrices: Sequence[Matrix], base: Selection, new: Selection,
               metrics: Sequence[Metric], declared: Sequence[str] = (),
               every: bool = False) -> Document:
    """The block of two sides of one result, or of two that are compared about what is declared;
    UsageError where a ratio between them says nothing. every: as geomean=all."""
    if len(matrices) == 1:
        comparison = compare_cells(matrices[0], base, new, metrics)
    else:
        comparison = compare_results(matrices[0], matrices[1], base, new, metrics, declared)
        declared_check(comparison, declared)
    for one in differences_refusing(comparison):
        raise UsageError(
            f"{one.text}: ratios across that say nothing, and none are posted"
            f"{axis_hint(comparison, declared, [one])}")
    comparison = geomeans_every(comparison) if every else comparison
    return comparison_block(comparison, commands_join(list(map(commands_of, matrices))), declared)


def pairs_blocks(matrix: Matrix, pairs: Sequence[tuple[Selection, Selection]],
                 metrics: Sequence[Metric], every: bool) -> list[Document]:
    """The block of each pair. A pair with nothing to show is left out with a line on standard
    error. UsageError where all are."""
    blocks, wrong = [], []
    for base, new in pairs:
        try:
            blocks.append(pair_block([matrix], base, new, metrics, every=every))
        except UsageError as error:
            wrong.append(error)
    if pairs and not blocks:
        raise wrong[0]
    for reason in wrong:
        say(f"left out: {reason}")
    return blocks


def cells_block(matrix: Matrix, words: Selection, metrics: Sequence[Metric]) -> Document:
    """The block of a result, or of its cells with these words, which is compared with nothing."""
    summary = summary_build(matrix, tuple(metric.name for metric in metrics))
    cells = cells_select(matrix, words)
    axes = tuple(axis for axis in matrix.axes
                 if len({cell.axes[axis] for cell in cells}) > 1)
    common = words_common(cells, [*axes, *words])
    tables = cells_tables(summary, axes, [cell.name for cell in cells])
    if not tables:
        raise UsageError(f"no good run of {words_text(words) or matrix.result.name} knows "
                         f"{' or '.join(metric.name for metric in metrics)}")
    remarks = [*cells_remarks(cells), *known_remarks(matrix, cells, metrics)]
    heads = [("cells", words_text(words) or "all")]
    heads += [("with", words_text(common))] if common else []
    return Document("", [Section(heads, tables)], foot_pairs(matrix, cells, tables, remarks),
                    commands=commands_of(matrix))


def netdev_metrics(matrices: Sequence[Matrix]) -> list[Metric]:
    """How much got through, in bytes of what streams and else in messages, CPU, retransmits."""
    streams = dict.fromkeys(cell.words.get("workload") in STREAMS
                            for matrix in matrices for cell in matrix.cells.values())
    through = ["bandwidth" if stream else "messages_per_second" for stream in streams]
    asked = [METRICS[name] for name in (*through, *NETDEV)]
    known = [metric for metric in asked
             if any(matrix.frame[metric.name].notna().any() for matrix in matrices)]
    unknown = ", ".join(metric.name for metric in asked if metric not in known)
    say(f"left out: no run knows {unknown}" if known and unknown else "")
    return known or asked


def blocks_build(matrices: Sequence[Matrix], selectors: Sequence[str], columns: str | None = None,
                 netdev: bool = False, declared: Sequence[str] = (),
                 every: bool = False) -> list[Document]:
    """All blocks that are asked for; selectors and columns are words of the shell. netdev: the
    columns for that list. declared: what two results are compared about. every: geomean=all."""
    if netdev and columns is not None:
        raise UsageError(f"--netdev chooses the columns: leave out columns={columns}")
    metrics = netdev_metrics(matrices) if netdev else metrics_choose(matrices[0], columns)
    if len(matrices) == 2:
        return [pair_block(matrices, *sides_between(selectors, "paste"), metrics, declared,
                           every)]
    blocks = pairs_blocks(matrices[0], sides_within(matrices[0], selectors, "paste"), metrics,
                          every)
    return blocks or [cells_block(matrices[0], words_join(
        [words_split(selector.split(), "paste: ") for selector in selectors]), metrics)]
