# SPDX-License-Identifier: MIT
"""Builds the blocks that `paste` prints and `verify` recomputes: sides and words above, a table for
each metric, and below these how and where it was measured. No figure is empty and only intervals,
`[+1.9%, +4.3%]`, have a blank: `verify` can read a block whose columns moved."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from suite.base.client import claim_names, scenario_names, scenario_path
from suite.base.errors import UsageError
from suite.base.runner_words import BUILD
from suite.base.text import say
from suite.base.units import Scale, scale_choose
from suite.base.words import words_split, words_text
from suite.decide.comparison.build import compare_pair, geomeans_every
from suite.decide.comparison.differences import refusals_check
from suite.decide.comparison.model import Comparison, Side
from suite.decide.comparison.sides import metrics_choose, sides_chosen, words_join
from suite.decide.replays import metrics_claimed
from suite.decide.summary import Figure, Summary, summary_build
from suite.observe.frame import Matrix
from suite.observe.measured import STREAMS
from suite.observe.metrics import METRICS, Metric
from suite.observe.selection import Selection, cells_select
from suite.present.columns import median_text, width_item
from suite.present.comparison import wording
from suite.present.comparison.document import key_columns, row_add, scale_of
from suite.present.heading import words_common
from suite.present.mail import foot
from suite.present.mail.command import RESULTS, SEED_WORD, command_words, is_derivable
from suite.present.tables.model import Column, Document, Group, Item, Section, Table
from suite.result.files import SCENARIO
from suite.result.plan import revision_of
from suite.scenario.scenario import scenario_load

WIDTH = "+/-"
NO_FIGURES = "no figures"  # label of the rows without a figure on either side
FIRST = "default"  # the value that comes first on every axis
EVERYTHING = "everything"  # the name of a side without words
# the columns that reviewers of netdev ask for, besides throughput
NETDEV = ("client_cpu_per_message", "server_cpu_per_message", "retransmits_per_message")
Columns = tuple[Column, ...]


def figure_columns(head: str, figures: Sequence[Figure | None], metric: Metric, scale: Scale
                   ) -> Columns:
    """The medians of one side and the widths of their intervals, without blanks."""
    medians = [median_text(figure.median, metric, scale) if figure else "" for figure in figures]
    return tuple(Column(name, tuple(Item(text.replace(" ", "") or wording.NOTHING)
                                    for text in texts))
                 for name, texts in ((head, medians), (WIDTH, map(str, map(width_item, figures)))))


def places_order(places: Sequence[tuple[str, ...]]) -> list[int]:
    """The indices of rows in the order of the plan, but `default` first. places: their values."""
    known = [list(dict.fromkeys([FIRST, *values])) for values in zip(*places, strict=True)]
    return sorted(range(len(places)), key=lambda index: [
        values.index(value) for values, value in zip(known, places[index], strict=True)])


def table_make(title: str, keys: Columns, groups: Sequence[Columns], rounds: str,
               total: Mapping[str, str] | None = None) -> Table:
    """A table of the rows with a figure; a further line names the others. rounds: the line below.
    total: the texts of a row that sums up, by the head of their column."""
    whole = Table(keys, tuple(Group("", columns) for columns in groups), title)
    places = list(zip(*([item.text for item in key.items] for key in keys), strict=True))
    order = places_order(places)
    empty = [row for row in order if all(column.items[row].text == wording.NOTHING
                                         for columns in groups for column in columns)]
    table = whole.take([row for row in order if row not in empty])
    if total:
        table = replace(table, foot=1, keys=row_add(table.keys, total), groups=tuple(
            replace(group, columns=row_add(group.columns, total)) for group in table.groups))
    names = ", ".join(" ".join(places[row]) for row in empty)
    return replace(table, below=rounds, remark=f"{NO_FIGURES}: {names}" if empty else "")


def comparison_tables(comparison: Comparison) -> list[Table]:
    tables, rows = [], comparison.rows
    for metric in filter(comparison.is_known, comparison.metrics):
        scale, mean = scale_of(comparison, metric), comparison.geomeans.get(metric.name)
        figures = [comparison.figures(row, metric) for row in rows]
        factors = wording.has_factors(comparison, metric)
        changes = [wording.change_item_texts(row.changes.get(metric.name), factors) for row in rows]
        keys = key_columns(comparison.axes, [row.axes for row in rows])
        total = {keys[0].head: wording.mean_size(comparison, mean),
                 **wording.mean_item_texts(mean, factors)} if mean else None
        tables.append(table_make(wording.metric_title(metric, scale.unit), keys, [
            (*figure_columns("base", [base for base, _ in figures], metric, scale),
             *figure_columns("new", [new for _, new in figures], metric, scale)),
            (Column(wording.CHANGE, tuple(Item(text) for text, _ in changes)),
             Column(wording.INTERVAL, tuple(Item(interval) for _, interval in changes)))],
            foot.line_shorten(wording.rounds_text(comparison, metric)), total))
    return tables


def cells_tables(summary: Summary, axes: tuple[str, ...], cells: Sequence[str]) -> list[Table]:
    """A table of medians for each metric that any of these cells has. cells: their names."""
    tables = []
    keys = key_columns(axes, [{axis: summary.matrix.cells[name].axes[axis] for axis in axes}
                              for name in cells])
    for metric in summary.metrics:
        figures = [summary.figures[name].get(metric.name) for name in cells]
        if known := [figure for figure in figures if figure]:
            scale = scale_choose((figure.median for figure in known), metric.unit)
            tables.append(table_make(
                wording.metric_title(metric, scale.unit), keys,
                [figure_columns("median", figures, metric, scale)],
                foot.table_rounds_text(known, summary.same[metric.name].values(), metric)))
    return tables


def sides_name(base: Side, new: Side) -> tuple[str, str]:
    """The names of both sides in a block: builds have their revisions if these differ."""
    named = [replace(side, name=revision_of(side.matrix.result.plan, side.words))
             for side in (base, new)]
    builds = (BUILD in base.words and all(side.name for side in named)
              and named[0].name != named[1].name)
    first, second = (wording.side_text(side) or EVERYTHING
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
        reason = next((f" ({cell.reasons[0]})" for cell in cells if cell.reasons), "")
        raise UsageError(f"{' and '.join(text for _, text in heads)} have no "
                         f"{' or '.join(metric.name for metric in comparison.metrics)} to compare"
                         + reason)
    heads += [("axis", ",".join(declared))] if declared else []
    heads += [("with", words_text(words))] if words else []
    # Of two results the foot describes the base; `differs` says what is not the same for new.
    measured = [cell for _, side, cell in comparison.cells()
                if comparison.within or side is comparison.base]
    tables = comparison_tables(comparison)
    below = foot.foot_pairs(comparison.base.matrix, measured, tables,
                            foot.comparison_remarks(comparison), comparison)
    return Document("", [Section(heads, tables)], below, commands=commands)


def pair_block(matrices: Sequence[Matrix], base: Selection, new: Selection,
               metrics: Sequence[Metric], declared: Sequence[str] = (),
               geomean_all: bool = False) -> Document:
    """The block of two sides of one result, or of two results. UsageError where a ratio between the
    sides has no meaning. declared: the axis of the comparison."""
    comparison = refusals_check(compare_pair(matrices, base, new, metrics, declared), declared)
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
    remarks = [*foot.cells_remarks(cells), *foot.coverage_remarks(matrix, cells, metrics)]
    heads = [("cells", words_text(words) or "all")]
    heads += [("with", words_text(common))] if common else []
    return Document("", [Section(heads, tables)], foot.foot_pairs(matrix, cells, tables, remarks),
                    commands=commands_of(matrix))


def commands_join(results: Sequence[Sequence[Sequence[str]]]) -> list[tuple[str, ...]]:
    """All commands of each result. If they differ in the seed only, one command without a seed."""
    unseeded = {tuple(word for word in words if not word.startswith(f"{SEED_WORD}="))
                for commands in results for words in commands}
    if len(unseeded) == 1 < len(results):
        return list(unseeded)
    return [tuple(words) for commands in results for words in commands]


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
