# SPDX-License-Identifier: MIT
"""Builds the blocks that `paste` prints and `verify` recomputes: sides and words above, the tables
of `compare` without the MDE and outliers, and below these how and where it was measured."""

from collections.abc import Sequence
from dataclasses import replace

from suite.base.client import claim_names, scenario_names, scenario_path
from suite.base.errors import UsageError
from suite.base.text import say
from suite.base.units import scale_choose
from suite.base.words import words_split, words_text
from suite.decide.comparison.build import compare_pair, geomeans_every
from suite.decide.comparison.differences import refusals_check
from suite.decide.comparison.model import Comparison
from suite.decide.comparison.sides import metrics_choose, sides_chosen, words_join
from suite.decide.replays import metrics_claimed
from suite.decide.summary import Summary, summary_build
from suite.observe.frame import Cell, Matrix
from suite.observe.machines import TIMES_INVALID
from suite.observe.measured import STREAMS
from suite.observe.metrics import METRICS, Metric
from suite.observe.selection import Selection, cells_select
from suite.present.claims import publication_pairs
from suite.present.columns import Footnotes, figure_note, value_item, width_item
from suite.present.comparison import document, wording
from suite.present.heading import words_common
from suite.present.mail import foot
from suite.present.mail.command import RESULTS, command_words, is_derivable
from suite.present.tables.model import Column, Document, Group, Pair, Section, Table
from suite.result.files import SCENARIO
from suite.scenario.scenario import scenario_load

EVERYTHING = "everything"  # the name of a side without words
# the columns that reviewers of netdev ask for, besides throughput
NETDEV = ("client_cpu_per_message", "server_cpu_per_message", "retransmits_per_message")


def legend_pairs(marks: Sequence[Pair]) -> list[Pair]:
    """The meaning of these marks in one line, without those of the MDE and outliers."""
    texts = [f"{mark} = {means}" for mark, means in marks
             if mark not in (wording.MDE, wording.OUTLIERS)]
    return [("legend", "; ".join(texts))] if texts else []


def cells_table(summary: Summary, axes: Sequence[str], cells: Sequence[Cell], metric: Metric,
                notes: Footnotes) -> Table:
    """The medians of a metric that some of these cells have. axes: the words that name them."""
    found = [summary.figures[cell.name].get(metric.name) for cell in cells]
    known = [figure for figure in found if figure]
    scale = scale_choose((figure.median for figure in known), metric.unit)
    medians = Column("median", tuple(
        value_item(cell, figure, metric, scale, notes, metric is summary.metrics[0],
                   figure_note(summary.matrix, cell, metric))
        for cell, figure in zip(cells, found, strict=True)))
    widths = Column("+/-", tuple(map(width_item, found)))
    floor = max(filter(None, (same.reach for same in summary.same[metric.name].values())),
                default=None)
    rounds = wording.span_text([figure.rounds for figure in known])
    return Table(document.key_columns(axes, [cell.axes for cell in cells]),
                 (Group("", (medians,) if widths.is_empty else (medians, widths)),),
                 wording.metric_title(metric, scale.unit),
                 below=(", ".join(filter(None, [
                     f"n={rounds} round{'s' if rounds != '1' else ''}", "medians",
                     wording.floor_text(metric, floor)])),))


def comparison_block(comparison: Comparison, commands: Sequence[Sequence[str]],
                     declared: Sequence[str] = ()) -> Document:
    """The block of two sides; UsageError without a change to show. declared: the axis."""
    cells = [cell for _, _, cell in comparison.cells()]
    in_sides = comparison.base.words.keys() & comparison.new.words.keys()  # stand in base and new
    words = words_common(cells, [*comparison.axes, *in_sides])
    heads = [(label, wording.side_text(side) or EVERYTHING)
             for label, side in zip(("base", "new"), comparison.sides, strict=True)]
    if not any(row.changes for row in comparison.rows):
        reason = next((f" ({cell.reasons[0]})" for cell in cells if cell.reasons), "")
        raise UsageError(f"{' and '.join(text for _, text in heads)} have no "
                         f"{' or '.join(metric.name for metric in comparison.metrics)} to compare"
                         + reason)
    heads += [("axis", ",".join(declared))] if declared else []
    heads += [("with", words_text(words))] if words else []
    # verify() knows the metrics of the tables alone, and not which others were asked for
    shown = replace(comparison, metrics=tuple(filter(comparison.is_known, comparison.metrics)),
                    notes=tuple(note for note in comparison.notes if note != TIMES_INVALID))
    notes = Footnotes()
    tables = [replace(table, groups=table.groups[:2])  # without the MDE and outliers
              for table in document.tables_build(shown, notes)]
    # Of two results the foot describes the base; `differs` says what is not the same for new.
    measured = [cell for _, side, cell in comparison.cells()
                if comparison.within or side is comparison.base]
    return Document("", [Section(heads, tables)], [
        *foot.measured_pairs(comparison.base.matrix, measured, comparison),
        *legend_pairs(document.comparison_legend([shown])),
        *document.comparison_notes([shown], notes),
        *publication_pairs(comparison.base.matrix)], commands=commands)


def pair_block(matrices: Sequence[Matrix], base: Selection, new: Selection,
               metrics: Sequence[Metric], declared: Sequence[str] = (),
               geomean_all: bool = False) -> Document:
    """The block of two sides of one result, or of two results. UsageError where a ratio between the
    sides has no meaning. declared: the axis of the comparison."""
    comparison = refusals_check(compare_pair(matrices, base, new, metrics, declared), declared)
    comparison = geomeans_every(comparison) if geomean_all else comparison
    commands = [words for matrix in matrices for words in commands_of(matrix)]
    return comparison_block(comparison, commands, declared)


def cells_block(matrix: Matrix, words: Selection, metrics: Sequence[Metric]) -> Document:
    """The block of the cells with these words, without any comparison."""
    cells, notes = cells_select(matrix, words), Footnotes()
    known = [metric for metric in metrics
             if any(len(matrix.series(cell.name, metric.name)) for cell in cells)]
    if not known:
        raise UsageError(f"no good run of {words_text(words) or matrix.result.name} knows "
                         f"{' or '.join(metric.name for metric in metrics)}")
    summary = summary_build(matrix, tuple(metric.name for metric in known))
    axes = [axis for axis in matrix.axes if len({cell.axes[axis] for cell in cells}) > 1]
    tables = [cells_table(summary, axes, cells, metric, notes) for metric in known]
    heads = [("cells", words_text(words) or "all")]
    if common := words_common(cells, [*axes, *words]):
        heads.append(("with", words_text(common)))
    legend = document.widths_pairs(figure for cell in cells
                                   for figure in summary.figures[cell.name].values())
    return Document("", [Section(heads, tables)], [
        *foot.measured_pairs(matrix, cells), *legend_pairs(legend), *notes.lines(),
        *publication_pairs(matrix)], commands=commands_of(matrix))


def commands_of(matrix: Matrix) -> list[list[str]]:
    """For each session of a result the words of `uncork run` that measure it again."""
    scenario, plan = matrix.result.scenario, matrix.result.plan
    ships = scenario.name in (*scenario_names(), *claim_names())
    shipped = scenario_load(scenario_path(scenario.name)) if ships else None
    if scenario.arms and not (shipped and is_derivable(shipped, scenario)):
        # A command line cannot define an arm: it names the file.
        words = [f"{matrix.result.folder.name}/{SCENARIO}"]
    else:
        words = command_words(scenario, plan, shipped)
    if len(plan.sessions) == 1:
        return [words]
    folder = ["-o", f"{RESULTS}/{matrix.result.name}"]
    return [[*words, *folder], *[["--more", *folder] for _ in plan.sessions[1:]]]


def netdev_metrics(matrices: Sequence[Matrix]) -> list[Metric]:
    """Throughput (bandwidth of streams, else messages per second) and NETDEV, as far as known."""
    streams = dict.fromkeys(cell.words.get("workload") in STREAMS
                            for matrix in matrices for cell in matrix.cells.values())
    asked = [METRICS[name] for name in (
        *("bandwidth" if stream else "messages_per_second" for stream in streams), *NETDEV)]
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
