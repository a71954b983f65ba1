# SPDX-License-Identifier: MIT
"""`uncork show`: one cell explained from its records. Pure: gives a string.

Figures per message are medians over the good counted runs; the rounds stand below in order, with
outliers marked and never dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from suite import stats
from suite.analyse.frame import Cell, Matrix, baseline_find, baseline_words
from suite.analyse.machines import FUNCTIONAL_ONLY
from suite.analyse.measured import NANOSECOND, MeasuredRun, quotient, threads_sum
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
from suite.base.words import words_split
from suite.present.columns import verdict_item
from suite.present.heading import UNSPLIT_NOTE, disturbances_text, machines_text, uncounted_note
from suite.present.tables.model import Column, Group, Item, Table
from suite.present.tables.terminal import table_lines
from suite.result.plan import folders_of
from suite.result.record import ENDS, Record

CANDIDATES_SHOWN = 12
CPU_STATES = ("user", "system", "softirq", "irq", "steal", "idle")
END_WORDS = ("engine", "write", "read", "security", "library")
TCP_STATES = ("cwnd_segments", "rtt_ns", "min_rtt_ns", "peer_window_bytes",
              "largest_peer_window_bytes")
COUNTS = {  # by label, the place of a count in a thread of a record
    "all writing": ("write_calls",),
    "all reading": ("read_calls",),
    "that would have blocked": ("would_block",),
    "chunks sent on": ("chunks_sent",),
    "groups sent on": ("groups_sent",),
    "data segments out": ("tcp_info", "data_segs_out", "sum"),
    "TLS records out": ("records_sent",),
    "TLS records in": ("records_received",),
    "TLS bytes out": ("tls_bytes_sent",),
    "TLS bytes in": ("tls_bytes_received",),
    "voluntary switches": ("cpu", "voluntary_switches"),
    "forced switches": ("cpu", "forced_switches"),
    "migrations": ("cpu", "migrations"),
}
EndsRow = tuple[str, Sequence[str]]  # a label, and the text of each of ENDS


def cell_choose(matrix: Matrix, words: Sequence[str], where: str = "show") -> Cell:
    """The one cell that has all words; UsageError lists the candidates if there is not just one."""
    cells = cells_select(matrix, words_split(" ".join(words).split(), f"{where}: "))
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


def metrics_lines(matrix: Matrix, cell: Cell, base: Cell | None, width: int) -> list[str]:
    """Every metric that the cell knows; its ratio to the base with the mark of the verdict."""
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
    return labelled_lines(pairs, width)


def ends_row(label: str, values: Iterable[float | None], text: Callable[[float], str]) -> EndsRow:
    """A row of the values of ENDS; an unknown one is left empty."""
    return label, ["" if value is None else text(value) for value in values]


def ends_table(rows: Iterable[EndsRow], width: int) -> list[str]:
    """Rows with a column for each end; a row or column without any text is left out."""
    known = [(label, texts) for label, texts in rows if any(texts)]
    if not known:
        return []
    keys = (Column("", tuple(Item(label) for label, _ in known), left=True),)
    columns = (Column("", tuple(Item(texts[index]) for _, texts in known))
               for index in range(len(ENDS)))
    groups = tuple(Group(end, (column,)) for end, column in zip(ENDS, columns, strict=True)
                   if not column.is_empty)
    titles, _, rule, *lines = table_lines(Table(keys, groups), width)
    return [titles, rule, *lines]


def calls_per_message(run: MeasuredRun, end: str, kind: str) -> float | None:
    """Calls of one kind of an end per message of the run; a thread that made none counts 0."""
    known = [thread["calls"].get(kind, 0) for thread in (run.record.end(end) or {}).get(
        "threads", ()) if "calls" in thread]
    return quotient(sum(known), run.messages) if known else None


def counts_lines(runs: Sequence[MeasuredRun], width: int) -> list[str]:
    """Calls by kind and other counts, per message of the run, by end."""
    kinds = sorted({kind for run in runs for _, _, thread in run.record.threads()
                    for kind in thread.get("calls", {})})
    rows = [ends_row(kind, [median_of(calls_per_message(run, end, kind) for run in runs) or None
                            for end in ENDS], count_text) for kind in kinds]
    rows += [ends_row(label, [median_of(quotient(threads_sum(run.record.end(end), *path),
                                                 run.messages) for run in runs)
                              for end in ENDS], count_text) for label, path in COUNTS.items()]
    return ends_table(rows, width)


def cpu_lines(cell: Cell, runs: Sequence[MeasuredRun], width: int) -> list[str]:
    """CPU time per message by end, in one unit, with its parts where there is enough to be split.

    None where times say nothing.
    """
    if cell.emulated:
        return []
    values = {"all": [median_of(quotient(run.cpu(run.record.end(end)), run.messages)
                                for run in runs) for end in ENDS]}
    for key in ("user", "system"):
        values[key] = [None if f"{end}_{key}" in cell.unsplit else
                       median_of(quotient(run.cpu_part(run.record.end(end), key), run.messages)
                                 for run in runs) for end in ENDS]
    scale = scale_choose([value for value in values["all"] if value is not None], "s")
    return ends_table([ends_row(f"{label}, {scale.unit}", ends,
                                lambda value: number_text(scale.apply(value)))
                       for label, ends in values.items()], width)


def machine_share(run: MeasuredRun, end: str, state: str) -> float | None:
    """The share of the time of all CPUs of an end's machine in one of CPU_STATES."""
    machine = (run.record.end(end) or {}).get("machine", {})
    return quotient(machine.get(f"{state}_ns"),
                    sum(machine.get(f"{each}_ns", 0) for each in CPU_STATES))


def machine_lines(cell: Cell, runs: Sequence[MeasuredRun], width: int) -> list[str]:
    """The states of all CPUs of each end's machine during the runs, in percent of their time.

    None where times say nothing.
    """
    return [] if cell.emulated else ends_table(
        [ends_row(state, [median_of(machine_share(run, end, state) for run in runs)
                          for end in ENDS], percent_text) for state in CPU_STATES], width)


def variants_text(values: Iterable[Any]) -> str:
    """The different values in the order in which they occur; of many numbers the range."""
    different = list(dict.fromkeys(values))
    if len(different) > 4 and all(isinstance(value, int | float) for value in different):
        return f"{min(different)} to {max(different)}"
    return ", ".join(("off", "on")[value] if isinstance(value, bool) else str(value)
                     for value in different)


def threads_of(runs: Sequence[MeasuredRun], end: str) -> list[tuple[int, Mapping[str, Any]]]:
    """(index, thread) of one end over all runs."""
    return [(index, thread) for run in runs
            for index, thread in enumerate((run.record.end(end) or {}).get("threads", ()))]


def indices_text(indices: Sequence[int]) -> str:
    """Ascending numbers, neighbours shortened: 0 to 3, 7."""
    texts = []
    for _, pairs in groupby(enumerate(indices), lambda pair: pair[1] - pair[0]):
        run = [index for _, index in pairs]
        texts.append(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]))
    return ", ".join(texts)


def placement_lines(runs: Sequence[MeasuredRun], width: int) -> list[str]:
    """Which CPUs were asked for and where the threads ran; threads that share both, together."""
    pairs = []
    for end in ENDS:
        places_of: dict[int, list[Mapping[str, Any]]] = {}
        for index, thread in threads_of(runs, end):
            if "cpus" in thread:
                places_of.setdefault(index, []).append(thread["cpus"])
        indices: dict[str, list[int]] = {}
        for index, places in sorted(places_of.items()):
            asked = variants_text(",".join(map(str, place["asked"])) if "asked" in place
                                  else "free" for place in places)
            ran = variants_text(place[key] for place in places for key in ("start", "end")
                                if place.get(key) is not None)
            indices.setdefault(f"asked {asked}; ran on {ran}", []).append(index)
        pairs += [(f"{end} thread{'s' if len(found) > 1 else ''} {indices_text(found)}", text)
                  for text, found in indices.items()]
    return labelled_lines(pairs, width)


def tcp_lines(runs: Sequence[MeasuredRun], timed: bool, width: int) -> list[str]:
    """TCP_INFO: medians over runs of the sums over all connections, of TCP_STATES of medians of
    connections; timed: also those that are times."""
    keys = dict.fromkeys(key for end in ENDS for _, thread in threads_of(runs, end)
                         for key in thread.get("tcp_info", {}) if timed or not key.endswith("_ns"))
    rows = []
    for key in keys:
        values = [median_of(thread.get("tcp_info", {}).get(key, {}).get("median")
                            for _, thread in threads_of(runs, end)) if key in TCP_STATES else
                  median_of(threads_sum(run.record.end(end), "tcp_info", key, "sum")
                            for run in runs) for end in ENDS]
        rows.append((key.removesuffix("_ns"), [
            "" if value is None else value_text(value * NANOSECOND, "s")
            if key.endswith("_ns") and value else f"{value:.0f}" for value in values]))
    return ends_table(rows, width)


def options_lines(runs: Sequence[MeasuredRun], width: int) -> list[str]:
    """Engine, strategy, reading and security, and the effective options at the end of the runs."""
    options = {end: [thread.get("options", {}) for _, thread in threads_of(runs, end)]
               for end in ENDS}
    ends = {end: [run.record.end(end) or {} for run in runs] for end in ENDS}
    keys = dict.fromkeys(key for end in ENDS for found in options[end] for key in found
                         if key != "clamped")
    return ends_table([(key, [variants_text(found[key] for found in source[end] if key in found)
                              for end in ENDS])
                       for source, names in ((ends, END_WORDS), (options, keys))
                       for key in names], width)


def metric_shown(matrix: Matrix, cell: Cell) -> Metric:
    """The first metric of a result that says something of a cell."""
    metrics = [METRICS[name] for name in metrics_default(matrix)]
    return next((metric for metric in metrics if not (cell.emulated and metric.timed)),
                metrics[0])


def rounds_lines(matrix: Matrix, cell: Cell) -> list[str]:
    """Every counted run in order: the leading metric's value, or what went wrong."""
    metric, runs = metric_shown(matrix, cell), matrix.result.runs
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


def notes_lines(matrix: Matrix, cell: Cell, width: int) -> list[str]:
    """Reasons of runs that are not good, and remarks on the result."""
    segments = "segments_per_message"
    measured = len(matrix.series(cell.name, segments)) > 1 and not matrix.is_exact(cell.name,
                                                                                 segments)
    unsplit = dict.fromkeys(SPLITS[name].rstrip("_") for name in SPLITS if name in cell.unsplit)
    notes = {
        f"{FUNCTIONAL_ONLY}: {cell.emulated}: its times say nothing and are not shown":
            cell.emulated,
        f"{segments} differs between runs: a measurement, not exact": measured,
        uncounted_note(cell): cell.uncounted,
        "user and system are not shown of "
        f"{'all ends' if '' in unsplit else ', '.join(unsplit)}: {UNSPLIT_NOTE}":
            cell.unsplit and not cell.emulated,
        "each round has arrivals of its own, the same for all of its cells "
        f"({ARRIVAL_SEED} of its records); the command below has those of the first":
            cell.words.get(ARRIVAL_SEED) == DRAWN,
        f"place=free: {metric_shown(matrix, cell).name} also measures where the scheduler put the "
        "threads": cell.words.get("place") == "free"}
    partly = filter(None, (matrix.coverage_text(cell, name) for name in METRICS))
    return labelled_lines([("-", note) for note in (
        *cell.reasons, *cell.remarks, *partly, *matrix.result.notes,
        *(note for note, holds in notes.items() if holds))], width)


def by_hand_commands(matrix: Matrix, cell: Cell, records: Sequence[Record]) -> list[str]:
    """The command that runs a cell by hand; where rounds draw arrivals, with those of its first
    run."""
    words = records[0].words if records else {}
    drawn = {ARRIVAL_SEED: words[ARRIVAL_SEED]} if ARRIVAL_SEED in words else {}
    command = timed_by_hand if matrix.result.plan.timer == "hyperfine" else str
    folders = folders_of(matrix.result.plan)
    return [command(line) for line in by_hand_lines(
        [{**(cell.given or cell.words), **drawn}],
        lambda given: command_by_hand(given, (), folders))]


def show_text(matrix: Matrix, cell: Cell, width: int) -> str:
    """Everything about one cell: what it is, and the sections that have lines."""
    records = list(matrix.records_good(cell.name))
    runs, inner = [MeasuredRun(record) for record in records], width - 2
    failed = f", {cell.runs_failed} failed" if cell.runs_failed else ""
    head = [("status", f"{cell.status}, {cell.runs_ok} good runs{failed}"),
            ("words", " ".join(f"{key}={value}" for key, value in cell.words.items())),
            ("machine", machines_text(matrix, [cell])), ("disturbed", disturbances_text(matrix))]
    base = baseline_find(matrix, cell, baseline_words(matrix))
    compared = f"; x: of {axes_text(base)}" if base is not None and base.name != cell.name else ""
    lab: Mapping[str, Any] = next((record.document["lab"] for record in reversed(records)
                if "lab" in record.document), {})
    sections = {
        f"Metrics (medians over rounds{compared})": metrics_lines(matrix, cell, base, inner),
        "Calls and counts per message": counts_lines(runs, inner),
        "CPU per message": cpu_lines(cell, runs, inner),
        "All CPUs of the machine, share of time": machine_lines(cell, runs, inner),
        "Placement": placement_lines(runs, inner),
        "Lab": labelled_lines(facts_rows(lab), inner),
        "Segments as captured, of one run": labelled_lines(capture_rows(records), inner),
        "TCP_INFO (per run)": tcp_lines(runs, not cell.emulated, inner),
        "Effective options": options_lines(runs, inner),
        f"Rounds in order, {metric_shown(matrix, cell).name}": rounds_lines(matrix, cell),
        "Notes": notes_lines(matrix, cell, inner),
        "By hand": by_hand_commands(matrix, cell, records),
    }
    lines = [axes_text(cell) or cell.name, "",
             *labelled_lines([pair for pair in head if pair[1]], width)]
    for title, inside in sections.items():
        lines += ["", title, *(f"  {line}" for line in inside)] if inside else []
    return "\n".join(line.rstrip() for line in lines) + "\n"
