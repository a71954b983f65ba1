# SPDX-License-Identifier: MIT
"""`uncork show`: one cell explained from its records. Pure: gives a string.

Figures per message are medians over the good counted runs; the rounds stand below in order, with
outliers marked and never dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from suite import stats
from suite.analyse.frame import Cell, Matrix, baseline_find, baseline_words, words_parse
from suite.analyse.machines import FUNCTIONAL_ONLY
from suite.analyse.measured import MeasuredRun, quotient, threads_sum
from suite.analyse.metrics import METRICS, SPLITS, Metric
from suite.analyse.runs import METRIC_PLACES
from suite.analyse.segments import capture_rows
from suite.analyse.selection import cells_select
from suite.analyse.summary import Figure, figure_build, metrics_default
from suite.base.by_hand import by_hand_lines, command_by_hand, timed_by_hand
from suite.base.errors import UsageError
from suite.base.lab_words import facts_rows
from suite.base.runner_words import ARRIVAL_SEED, DRAWN
from suite.base.text import labelled_lines
from suite.base.units import (
    count_text,
    number_text,
    percent_text,
    ratio_text,
    scale_choose,
    value_text,
)
from suite.present.columns import verdict_item
from suite.present.heading import UNSPLIT_NOTE, disturbances_text, machines_text, uncounted_note
from suite.present.tables.model import Column, Group, Item, Table
from suite.present.tables.terminal import table_lines
from suite.result.plan import folders_of
from suite.result.record import ENDS, Record

CANDIDATES_SHOWN = 12
Lines = list[str]


def cell_choose(matrix: Matrix, words: Sequence[str], where: str = "show") -> Cell:
    """The one cell that has all words; UsageError lists the candidates if there is not just one."""
    cells = cells_select(matrix, words_parse(" ".join(words), where))
    if len(cells) > 1:
        what = f'"{" ".join(words)}" selects {len(cells)} cells' if words else \
            f"one of {len(cells)} cells"
        raise UsageError(f"{what}, name one: {cells_text(cells)}")
    return cells[0]


def cells_text(cells: Sequence[Cell]) -> str:
    """The words by which the cells differ, the first of them where they are many."""
    names = [axes_text(cell) or cell.name for cell in cells]
    more = len(names) - CANDIDATES_SHOWN
    return "; ".join(names[:CANDIDATES_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def axes_text(cell: Cell) -> str:
    """The words that vary, as they would be typed."""
    return " ".join(f"{key}={value}" for key, value in cell.axes.items() if value)


def section(title: str, lines: Lines) -> Lines:
    """A titled part, indented; nothing if it has no lines."""
    return ["", title, *(f"  {line}".rstrip() for line in lines)] if lines else []


def median_of(values: Iterable[float | None]) -> float | None:
    """The median of those that are known; None if none is."""
    known = [value for value in values if value is not None]
    return stats.median(known) if known else None


def figure_text(figure: Figure, unit: str) -> str:
    """A median with its interval."""
    text = value_text(figure.median, unit)
    if figure.exact:
        return f"{text}, the same in every run of {figure.rounds} rounds"
    if figure.interval is None:
        return f"{text}, one round"
    kind = "95 % interval" if figure.interval.level else "min..max"
    return (f"{text}, {kind} {value_text(figure.interval.low, unit)}"
            f" to {value_text(figure.interval.high, unit)}")


def metrics_lines(matrix: Matrix, cell: Cell, width: int) -> Lines:
    """Every metric that the cell knows; its ratio to the baseline with what may be said of it."""
    base = baseline_find(matrix, cell, baseline_words(matrix))
    pairs = []
    for metric in METRICS.values():
        figure = figure_build(matrix, cell, metric, base)
        if figure is None:
            continue
        text = figure_text(figure, metric.unit)
        if figure.ratio is not None:
            item = verdict_item(ratio_text(figure.ratio.value), figure.verdict)
            text += f"; {item.text}{item.mark}"
        pairs.append((metric.name, text))
    return labelled_lines(pairs, width - 2)


def end_of(run: MeasuredRun, name: str) -> Mapping[str, Any] | None:
    """One end's part of a record."""
    return run.record.end(name)


def per_message(runs: Sequence[MeasuredRun], name: str, *path: str) -> float | None:
    """The median over runs of an end's sum at path per message of the run."""
    return median_of(quotient(threads_sum(end_of(run, name), *path), run.messages)
                     for run in runs)


def call_kinds(runs: Sequence[MeasuredRun]) -> list[str]:
    """The kinds of call that any end made, in alphabetical order."""
    return sorted({kind for run in runs for end in run.ends
                   for thread in end.get("threads", ()) for kind in thread.get("calls", {})})


def calls_per_message(runs: Sequence[MeasuredRun], name: str, kind: str) -> float | None:
    """As per_message, of one kind of call; a kind that a thread did not use counts 0."""
    values = []
    for run in runs:
        threads = (end_of(run, name) or {}).get("threads", ())
        known = [thread["calls"].get(kind, 0) for thread in threads if "calls" in thread]
        values.append(quotient(sum(known), run.messages) if known else None)
    return median_of(values)


def ends_table(rows: Sequence[tuple[str, Sequence[str]]], width: int) -> Lines:
    """Rows with a column for each end; a row that no end knows is left out."""
    known = [(label, texts) for label, texts in rows if any(texts)]
    if not known:
        return []
    keys = [Column("", tuple(Item(label) for label, _ in known), left=True)]
    groups = [Group(end, (Column("", tuple(Item(texts[index]) for _, texts in known)),))
              for index, end in enumerate(ENDS) if any(texts[index] for _, texts in known)]
    titles, _, rule, *lines = table_lines(Table(tuple(keys), tuple(groups)), width)
    return [titles, rule, *lines]


def counts_lines(runs: Sequence[MeasuredRun], width: int) -> Lines:
    """Calls by kind and other counts, per message of the run, by end."""
    def row(label: str, of: Callable[[str], float | None]) -> tuple[str, list[str]]:
        values = [of(end) for end in ENDS]
        return label, [count_text(value) if value is not None else "" for value in values]

    rows = [row(kind, lambda end, kind=kind: calls_per_message(runs, end, kind) or None)
            for kind in call_kinds(runs)]
    for label, *path in (("all writing", "write_calls"), ("all reading", "read_calls"),
                         ("that would have blocked", "would_block"),
                         ("chunks sent on", "chunks_sent"), ("groups sent on", "groups_sent"),
                         ("data segments out", "tcp_info", "data_segs_out", "sum"),
                         ("TLS records out", "records_sent"),
                         ("TLS records in", "records_received"),
                         ("TLS bytes out", "tls_bytes_sent"),
                         ("TLS bytes in", "tls_bytes_received"),
                         ("voluntary switches", "cpu", "voluntary_switches"),
                         ("forced switches", "cpu", "forced_switches"),
                         ("migrations", "cpu", "migrations")):
        rows.append(row(label, lambda end, path=path: per_message(runs, end, *path)))
    return ends_table(rows, width)


def cpu_lines(cell: Cell, runs: Sequence[MeasuredRun], width: int) -> Lines:
    """CPU time per message by end, in one unit; its parts only of ends that have enough of it to be
    split. None where times say nothing."""
    if cell.emulated:
        return []
    values = {"all": [median_of(quotient(run.cpu(end_of(run, end)), run.messages) for run in runs)
                      for end in ENDS]}
    for key in ("user", "system"):
        values[key] = [None if f"{end}_{key}" in cell.unsplit else
                       median_of(quotient(run.cpu_part(end_of(run, end), key), run.messages)
                                 for run in runs) for end in ENDS]
    scale = scale_choose([value for value in values["all"] if value is not None], "s")
    rows = [(f"{label}, {scale.unit}", [number_text(scale.apply(value)) if value is not None else ""
                                        for value in ends])
            for label, ends in values.items()]
    return ends_table(rows, width)


def machine_lines(cell: Cell, runs: Sequence[MeasuredRun], width: int) -> Lines:
    """What all CPUs of each end's machine did during the runs, in percent of their time, where
    times say something."""
    if cell.emulated:
        return []
    kinds = ("user", "system", "softirq", "irq", "steal", "idle")

    def share(run: MeasuredRun, end: str, kind: str) -> float | None:
        machine = (end_of(run, end) or {}).get("machine", {})
        whole = sum(machine.get(f"{each}_ns", 0) for each in kinds)
        return quotient(machine.get(f"{kind}_ns"), whole)

    rows = []
    for kind in kinds:
        shares = [median_of(share(run, end, kind) for run in runs) for end in ENDS]
        rows.append((kind, [percent_text(value) if value is not None else ""
                            for value in shares]))
    return ends_table(rows, width)


def variants_text(values: Iterable[Any]) -> str:
    """The different values in the order in which they occur; ranges where they are many numbers."""
    different = list(dict.fromkeys(values))
    if len(different) > 4 and all(isinstance(value, int | float) for value in different):
        return f"{min(different)} to {max(different)}"
    return ", ".join({True: "on", False: "off"}.get(value, str(value))
                     if isinstance(value, bool) else str(value) for value in different)


def threads_of(runs: Sequence[MeasuredRun], name: str) -> list[tuple[int, Mapping[str, Any]]]:
    """(index, thread) of one end over all runs."""
    return [(index, thread) for run in runs
            for index, thread in enumerate((end_of(run, name) or {}).get("threads", ()))]


def indices_text(indices: Sequence[int]) -> str:
    """Ascending numbers with runs of them shortened: 0 to 3, 7."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def placement_lines(runs: Sequence[MeasuredRun], width: int) -> Lines:
    """Which CPUs were asked for and where the threads ran; threads that share both, together."""
    pairs = []
    for name in ENDS:
        places_of: dict[str, list[int]] = {}
        threads = threads_of(runs, name)
        for index in sorted({index for index, _ in threads}):
            places = [thread["cpus"] for number, thread in threads
                      if number == index and "cpus" in thread]
            asked = variants_text(",".join(map(str, place["asked"])) if "asked" in place
                                  else "free" for place in places)
            ran = variants_text(cpu for place in places
                                for cpu in (place.get("start"), place.get("end"))
                                if cpu is not None)
            if places:
                places_of.setdefault(f"asked {asked}; ran on {ran}", []).append(index)
        pairs += [(f"{name} thread{'s' if len(indices) > 1 else ''} {indices_text(indices)}", text)
                  for text, indices in places_of.items()]
    return labelled_lines(pairs, width - 2)


def tcp_lines(runs: Sequence[MeasuredRun], timed: bool, width: int) -> Lines:
    """TCP_INFO: medians over runs of the sums over all connections (differences), or of medians of
    connections (states); timed: also those that are times."""
    keys = dict.fromkeys(key for name in ENDS for _, thread in threads_of(runs, name)
                         for key in thread.get("tcp_info", {}) if timed or not key.endswith("_ns"))
    states = {"cwnd_segments", "rtt_ns", "min_rtt_ns", "peer_window_bytes",
              "largest_peer_window_bytes"}
    rows = []
    for key in keys:
        texts = []
        for name in ENDS:
            value = median_of(
                thread.get("tcp_info", {}).get(key, {}).get("median")
                for _, thread in threads_of(runs, name)) if key in states else median_of(
                threads_sum(end_of(run, name), "tcp_info", key, "sum") for run in runs)
            texts.append("" if value is None else value_text(value * 1e-9, "s")
                         if key.endswith("_ns") and value else f"{value:.0f}")
        rows.append((key.removesuffix("_ns"), texts))
    return ends_table(rows, width)


def options_lines(runs: Sequence[MeasuredRun], width: int) -> Lines:
    """Engine, strategy, reading and security, and the effective options at the end of the runs."""
    rows = []
    for key in ("engine", "write", "read", "security", "library"):
        rows.append((key, [variants_text(end[key] for end in (end_of(run, name) for run in runs)
                                         if end and key in end) for name in ENDS]))
    options = dict.fromkeys(key for name in ENDS for _, thread in threads_of(runs, name)
                            for key in thread.get("options", {}) if key != "clamped")
    for key in options:
        rows.append((key, [variants_text(thread["options"][key]
                                         for _, thread in threads_of(runs, name)
                                         if key in thread.get("options", {})) for name in ENDS]))
    return ends_table(rows, width)


def metric_leading(matrix: Matrix, cell: Cell) -> Metric:
    """The first metric of a result that says something of a cell."""
    metrics = [METRICS[name] for name in metrics_default(matrix)]
    return next((metric for metric in metrics if not (cell.emulated and metric.timed)),
                metrics[0])


def rounds_lines(matrix: Matrix, cell: Cell) -> Lines:
    """Every counted run in order: the leading metric's value, or what went wrong."""
    metric, runs = metric_leading(matrix, cell), matrix.result.runs
    rows = matrix.frame[(matrix.frame["cell"] == cell.name) & (matrix.frame["round"] > 0)]
    rows = rows.sort_values(["round", "label"])
    good = rows[(rows["status"] == "ok") & rows[metric.name].notna()]
    marks = dict(zip(good.index, stats.outliers_mark(good[metric.name].tolist()), strict=True))
    scale = scale_choose(good[metric.name], metric.unit)
    lines = []
    for index, row in rows.iterrows():
        label = f"round {row['round']:>3} {row['label']:<2}"
        if index in marks:
            mark = "  outlier" if marks[index] else ""
            value = number_text(scale.apply(row[metric.name]))
            more = "> " if runs.censored[index, METRIC_PLACES[metric.name]] else ""
            lines.append(f"{label} {more + value:>8} {scale.unit}{mark}")
        else:
            lines.append(f"{label} {row['status']:>8} {row['reason']}")
    return lines


def ends_unsplit(cell: Cell) -> list[str]:
    """Whose CPU time is too short to be split: all ends together, or ends by name."""
    found = dict.fromkeys(SPLITS[name].rstrip("_") for name in SPLITS if name in cell.unsplit)
    return ["all ends"] if "" in found else list(found)


def notes_lines(matrix: Matrix, cell: Cell, width: int) -> Lines:
    """Reasons of runs that are not good, and remarks on the result."""
    counted = metric_leading(matrix, cell).name
    segments = "segments_per_message"
    partly = filter(None, (matrix.coverage_text(cell, name) for name in METRICS))
    notes = [*cell.reasons, *cell.remarks, *partly, *matrix.result.notes]
    if cell.emulated:
        notes.append(
            f"{FUNCTIONAL_ONLY}: {cell.emulated}: its times say nothing and are not shown")
    if len(matrix.series(cell.name, segments)) > 1 and not matrix.is_exact(cell.name, segments):
        notes.append(f"{segments} differs between runs: a measurement, not exact")
    if cell.uncounted:
        notes.append(uncounted_note(cell))
    if cell.unsplit and not cell.emulated:
        notes.append(f"user and system are not shown of {', '.join(ends_unsplit(cell))}: "
                     f"{UNSPLIT_NOTE}")
    if cell.words.get(ARRIVAL_SEED) == DRAWN:
        notes.append(f"each round has arrivals of its own, the same for all of its cells "
                     f"({ARRIVAL_SEED} of its records); the command below has those of the first")
    if cell.words.get("place") == "free":
        notes.append(f"place=free: {counted} also measures where the scheduler put the threads")
    return labelled_lines([("-", note) for note in notes], width - 2)


def lab_lines(records: Sequence[Record], width: int) -> Lines:
    """The links of the lab as they were read back; those of the last run that had one."""
    facts = next((record.document["lab"] for record in reversed(records)
                  if "lab" in record.document), {})
    return labelled_lines(facts_rows(facts), width - 2)


def given_by_hand(cell: Cell, records: Sequence[Record]) -> dict[str, str]:
    """The words that run a cell by hand; where rounds draw arrivals, with those of its first
    run."""
    words = next((record.words for record in records), {})
    drawn = {ARRIVAL_SEED: words[ARRIVAL_SEED]} if ARRIVAL_SEED in words else {}
    return {**(cell.given or cell.words), **drawn}


def show_text(matrix: Matrix, cell: Cell, width: int) -> str:
    """Everything about one cell."""
    records = list(matrix.records_good(cell.name))
    runs = [MeasuredRun(record) for record in records]
    failed = f", {cell.runs_failed} failed" if cell.runs_failed else ""
    head = [("status", f"{cell.status}, {cell.runs_ok} good runs{failed}"),
            ("words", " ".join(f"{key}={value}" for key, value in cell.words.items())),
            ("machine", machines_text(matrix, [cell]))]
    disturbed = disturbances_text(matrix)
    head += [("disturbed", disturbed)] if disturbed else []
    base = baseline_find(matrix, cell, baseline_words(matrix))
    compared = f"; x: of {axes_text(base)}" if base is not None and base.name != cell.name else ""
    metric = metric_leading(matrix, cell).name
    lines = [axes_text(cell) or cell.name, "", *labelled_lines(head, width)]
    lines += section(f"Metrics (medians over rounds{compared})", metrics_lines(matrix, cell, width))
    lines += section("Calls and counts per message", counts_lines(runs, width - 2))
    lines += section("CPU per message", cpu_lines(cell, runs, width - 2))
    lines += section("All CPUs of the machine, share of time", machine_lines(cell, runs, width - 2))
    lines += section("Placement", placement_lines(runs, width))
    lines += section("Lab", lab_lines(records, width))
    lines += section("Segments as captured, of one run",
                     labelled_lines(capture_rows(records), width - 2))
    lines += section("TCP_INFO (per run)", tcp_lines(runs, not cell.emulated, width - 2))
    lines += section("Effective options", options_lines(runs, width - 2))
    lines += section(f"Rounds in order, {metric}", rounds_lines(matrix, cell))
    lines += section("Notes", notes_lines(matrix, cell, width))
    command = timed_by_hand if matrix.result.plan.timer == "hyperfine" else str
    folders = folders_of(matrix.result.plan)
    lines += section("By hand", [command(line) for line in by_hand_lines(
        [given_by_hand(cell, records)], lambda given: command_by_hand(given, (), folders))])
    return "\n".join(line.rstrip() for line in lines) + "\n"
