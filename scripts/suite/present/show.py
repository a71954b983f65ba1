# SPDX-License-Identifier: MIT
"""`uncork show`: explains one cell from its records. Figures per message are medians over the good
counted runs. The rounds follow in order, with outliers marked and never dropped."""

import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, groupby, product, zip_longest
from typing import Any

import numpy as np

from suite import stats
from suite.base import grouped
from suite.base.by_hand import by_hand_lines
from suite.base.errors import UsageError
from suite.base.lab_words import facts_rows
from suite.base.runner_words import ARRIVAL_SEED, DRAWN, EXACT_ONLY
from suite.base.text import labelled_lines
from suite.base.units import count_text, number_text, percent_text, scale_choose, value_text
from suite.base.words import words_split, words_text
from suite.decide.summary import Figure, figure_build
from suite.observe.frame import Cell, Matrix
from suite.observe.measured import NANOSECOND, MaybeEnd, MeasuredRun, quotient, threads_sum
from suite.observe.metrics import CPU_STATES, METRICS, SPLITS, Metric, machine_share
from suite.observe.selection import cells_select, metrics_default
from suite.present.columns import ratio_item
from suite.present.heading import UNSPLIT_NOTE, disturbances_text, machines_text, uncounted_note
from suite.present.tables.model import Column, Group, Item, Table
from suite.present.tables.terminal import table_lines
from suite.result.plan import folders_of
from suite.result.record import ENDS, Record

CANDIDATES_SHOWN = 12
REGIMES_DIFFER = 0.1  # groups of rounds show what differs by this fraction or more
DIRECTIONS = ("sent", "received")  # by the client; docs/record.md, "Captured segments"
SEGMENTS_SHOWN, SIZES_SHOWN = 12, 8
END_WORDS = ("engine", "write", "read", "security", "library")
TCP_STATES = ("cwnd_segments", "rtt_ns", "min_rtt_ns", "peer_window_bytes",
              "largest_peer_window_bytes")
COUNTS = {  # by label: the path of a count in a thread of a record
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
RecordEnd = Mapping[str, Any]  # `client` or `server` of a record


def cell_choose(matrix: Matrix, words: Sequence[str], where: str = "show") -> Cell:
    """The only cell with all these words. UsageError lists the candidates if there are several."""
    cells = cells_select(matrix, words_split(" ".join(words).split(), f"{where}: "))
    if len(cells) > 1:
        what = f'"{" ".join(words)}" selects {len(cells)} cells' if words else \
            f"one of {len(cells)} cells"
        raise UsageError(f"{what}, name one: {cells_text(cells)}")
    return cells[0]


def cells_text(cells: Sequence[Cell]) -> str:
    """The words by which the cells differ; of many cells the first ones and a count."""
    names = [cell.text or cell.name for cell in cells]
    more = len(names) - CANDIDATES_SHOWN
    return "; ".join(names[:CANDIDATES_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def median_of(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return stats.median(known) if known else None


def figure_text(figure: Figure, unit: str) -> str:
    text = value_text(figure.median, unit)
    if figure.exact:
        text += f", the same in every run of {figure.rounds} rounds"
    elif figure.interval is None:
        text += ", one round"
    else:
        text += (f", {'95 % interval' if figure.interval.level else 'min..max'}"
                 f" {value_text(figure.interval.low, unit)}"
                 f" to {value_text(figure.interval.high, unit)}")
    return f"{text}; {ratio_item(figure)}" if figure.ratio and figure.median else text


def ends_medians(runs: Sequence[MeasuredRun], value: Callable[..., float | None], *more: Any
                 ) -> list[float | None]:
    """For each of ENDS the median over runs of value(run, end, *more); an absent end is empty."""
    return [median_of(value(run, run.record.end(end) or {}, *more) for run in runs)
            for end in ENDS]


def ends_table(rows: Mapping[str, Sequence[Any]], width: int,
               text: Callable[[Any], str] = str, heads: Sequence[str] = ENDS) -> list[str]:
    """A table with a column for each of heads. A row or column without any text is left out."""
    texts = {label: ["" if value is None else text(value) for value in values]
             for label, values in rows.items()}
    known = {label: row for label, row in texts.items() if any(row)}
    if not known:
        return []
    columns = [Column(head, tuple(map(Item, column)))
               for head, column in zip(heads, zip(*known.values(), strict=True), strict=True)
               if any(column)]
    return table_lines(Table((Column("", tuple(map(Item, known)), left=True),),
                             tuple(Group("", (column,)) for column in columns)), width)


def calls_per_message(run: MeasuredRun, end: RecordEnd, kind: str) -> float | None:
    """None if no thread of the end counts its calls."""
    known = [thread["calls"].get(kind, 0) for thread in end.get("threads", ())
             if "calls" in thread]
    return quotient(sum(known), run.messages) if known else None


def count_per_message(run: MeasuredRun, end: MaybeEnd, path: Sequence[str]) -> float | None:
    return quotient(threads_sum(end, *path), run.messages)


def counts_lines(runs: Sequence[MeasuredRun], width: int) -> list[str]:
    """Calls by kind and other counts of each end, per message of the run."""
    kinds = sorted({kind for run in runs for _, _, thread in run.record.threads()
                    for kind in thread.get("calls", {})})
    calls = {kind: [value or None for value in ends_medians(runs, calls_per_message, kind)]
             for kind in kinds}
    counts = {label: ends_medians(runs, count_per_message, path) for label, path in COUNTS.items()}
    return ends_table(calls | counts, width, count_text)


def cpu_lines(cell: Cell, runs: Sequence[MeasuredRun], width: int) -> list[str]:
    rows = {"all": ends_medians(runs, lambda run, end: quotient(run.cpu(end), run.messages))}
    for part in ("user", "system"):
        known = ends_medians(runs, lambda run, end, part: quotient(
            run.cpu_part(end, part), run.messages), part)
        rows[part] = [None if f"{end}_{part}" in cell.unsplit else value
                      for end, value in zip(ENDS, known, strict=True)]
    scale = scale_choose(filter(None, rows["all"]), "s")
    return ends_table({f"{label}, {scale.unit}": row for label, row in rows.items()}, width,
                      lambda value: number_text(scale.apply(value)))


def regimes_lines(matrix: Matrix, cell: Cell, runs: Sequence[MeasuredRun], metric: Metric,
                  width: int) -> list[str]:
    """The two groups of rounds of a cell, if there are two: the medians of what differs between
    them, so that one sees what the slow rounds did."""
    series = matrix.series(cell.name, metric.name)
    found = stats.regimes_of(series.values) if series.positive and not series.censored else None
    if found is None:
        return []
    figures = matrix.frame[list(METRICS)].iloc[matrix.result.runs.value_rows(cell.name)].assign(**{
        f"{end} {label} per message": np.array(
            [count_per_message(run, run.record.end(end), path) for run in runs], dtype=float)
        for end, (label, path) in product(ENDS, COUNTS.items())}).dropna(axis="columns")
    groups = figures.groupby(figures[metric.name] > found.limit)
    rows = {name: [value_text(value, METRICS[name].unit if name in METRICS else "1")
                   for value in pair]
            for name, pair in groups.median().items()
            if not math.isclose(*pair, rel_tol=REGIMES_DIFFER, abs_tol=1e-12)}
    return ends_table(rows, width, heads=[f"{size} rounds" for size in groups.size()])


def variants_text(values: Iterable[Any]) -> str:
    """The different values in order of occurrence; more than four numbers become a range."""
    different = list(dict.fromkeys(values))
    if len(different) > 4 and all(isinstance(value, int | float) for value in different):
        return f"{min(different)} to {max(different)}"
    return ", ".join(("off", "on")[value] if isinstance(value, bool) else str(value)
                     for value in different)


def threads_of(runs: Sequence[MeasuredRun], end: str) -> list[list[Mapping[str, Any]]]:
    return [(run.record.end(end) or {}).get("threads", []) for run in runs]


def thread_parts(runs: Sequence[MeasuredRun], key: str) -> list[list[Mapping[str, Any]]]:
    """For each of ENDS this part of all threads of all runs."""
    return [[thread.get(key, {}) for thread in chain(*threads_of(runs, end))] for end in ENDS]


def indices_text(indices: Sequence[int]) -> str:
    """Ascending numbers as ranges: `0 to 3, 7`."""
    texts = []
    for _, pairs in groupby(enumerate(indices), lambda pair: pair[1] - pair[0]):
        near = [index for _, index in pairs]
        texts.append(f"{near[0]} to {near[-1]}" if len(near) > 1 else str(near[0]))
    return ", ".join(texts)


def placement_text(threads: Iterable[Mapping[str, Any]]) -> str:
    """The CPUs that a thread asked for and those it ran on, over all runs; empty if unknown."""
    places = [thread["cpus"] for thread in threads if "cpus" in thread]
    asked = variants_text(",".join(map(str, place["asked"])) if "asked" in place else "free"
                          for place in places)
    ran = variants_text(place[key] for place in places for key in ("start", "end")
                        if place.get(key) is not None)
    return f"asked {asked}; ran on {ran}" if places else ""


def placement_lines(runs: Sequence[MeasuredRun], width: int) -> list[str]:
    """The placement of each thread. Threads alike share a line."""
    pairs = []
    for end in ENDS:
        same_index = zip_longest(*threads_of(runs, end), fillvalue={})
        alike = grouped((placement_text(threads), index)
                        for index, threads in enumerate(same_index))
        pairs += [(f"{end} thread{'s' if len(found) > 1 else ''} {indices_text(found)}", text)
                  for text, found in alike.items() if text]
    return labelled_lines(pairs, width)


def tcp_text(key: str, value: float | None) -> str:
    if value and key.endswith("_ns"):
        return value_text(value * NANOSECOND, "s")
    return "" if value is None else f"{value:.0f}"


def tcp_lines(runs: Sequence[MeasuredRun], timed: bool, width: int) -> list[str]:
    """TCP_INFO. TCP_STATES are medians over connections; all others are sums over connections, of
    which the median over runs is shown. timed: also show times."""
    known = thread_parts(runs, "tcp_info")
    rows = {}
    for key in dict.fromkeys(key for info in chain(*known) for key in info):
        values = [median_of(info.get(key, {}).get("median") for info in infos)
                  for infos in known] if key in TCP_STATES else ends_medians(
            runs, lambda _, end, name: threads_sum(end, "tcp_info", name, "sum"), key)
        if timed or not key.endswith("_ns"):
            rows[key.removesuffix("_ns")] = [tcp_text(key, value) for value in values]
    return ends_table(rows, width)


def sizes_text(captured: Mapping[str, Any]) -> str:
    """How many segments have which payload, and the sizes of the first packets in order."""
    if not captured["data_segments"]:
        return "no segments with payload"
    shown = sorted(sorted(captured["sizes"], key=lambda pair: -pair[1])[:SIZES_SHOWN])
    sizes = ", ".join(f"{count} x {size}" for size, count in shown)
    left = captured["data_segments"] - sum(count for _, count in shown)
    others = f", {left} of other sizes" if left else ""
    first = ", ".join(str(size) for size in captured["first"][:SEGMENTS_SHOWN])
    more = ", ..." if captured["packets"] > SEGMENTS_SHOWN else ""
    unsplit, resent = captured["super_packets"], captured["retransmitted_segments"]
    return (f"{sizes} bytes{others}" + f"; {unsplit} packets not cut up yet" * bool(unsplit)
            + f"; {resent} sent again" * bool(resent) + f"; in order {first}{more}")


def capture_rows(records: Sequence[Record]) -> list[tuple[str, str]]:
    """The capture of one run: the run whose packets were kept, else the last one with a capture."""
    known = [(client["capture"], record.round) for record in records
             if "capture" in (client := record.end("client") or {})]
    if not known:
        return []
    capture, number = next((pair for pair in known if "file" in pair[0]), known[-1])
    where = f"{capture['device']}, {capture['stored_packets']} packets of round {number}"
    kept = [("packets", capture["file"])] if "file" in capture else []
    return [("captured on", where),
            *((f"client {name}", sizes_text(capture[name])) for name in DIRECTIONS), *kept]


def options_lines(runs: Sequence[MeasuredRun], width: int) -> list[str]:
    """What the ends chose, then the options of their sockets."""
    ends = [[run.record.end(end) or {} for run in runs] for end in ENDS]
    options = thread_parts(runs, "options")
    keys = dict.fromkeys(key for found in chain(*options) for key in found if key != "clamped")
    return ends_table({key: [variants_text(found[key] for found in side if key in found)
                             for side in source]
                       for source, names in ((ends, END_WORDS), (options, keys))
                       for key in names}, width)


def rounds_lines(matrix: Matrix, cell: Cell, metric: Metric) -> list[str]:
    """Every counted run in order: the value of the metric, or the status and its reason."""
    rows = matrix.frame[(matrix.frame["cell"] == cell.name) & (matrix.frame["round"] > 0)]
    good = rows.loc[(rows["status"] == "ok") & rows[metric.name].notna(), metric.name]
    marks = dict(zip(good.index, stats.outliers_mark(good.tolist()), strict=True))
    scale = scale_choose(good, metric.unit)
    lines = []
    for index, row in rows.sort_values(["round", "label"]).iterrows():
        text = f"{row['status']:>8} {row['reason']}"
        if index in marks:
            bound = "> " if metric.name in row["censored"] else ""
            text = (f"{bound + number_text(scale.apply(row[metric.name])):>8} {scale.unit}"
                    f"{'  outlier' if marks[index] else ''}")
        lines.append(f"round {row['round']:>3} {row['label']:<2} {text}")
    return lines


def notes_lines(matrix: Matrix, cell: Cell, metric: Metric, width: int) -> list[str]:
    segments = "segments_per_message"
    measured = len(matrix.series(cell.name, segments)) > 1 and not matrix.is_exact(cell.name,
                                                                                 segments)
    unsplit = dict.fromkeys(SPLITS[name].rstrip("_") for name in SPLITS if name in cell.unsplit)
    notes = {
        f"{cell.emulated}: {EXACT_ONLY}": cell.emulated,
        f"{segments} differs between runs: a measurement, not exact": measured,
        uncounted_note(cell): cell.uncounted,
        "user and system are not shown of "
        f"{'all ends' if '' in unsplit else ', '.join(unsplit)}: {UNSPLIT_NOTE}":
            cell.unsplit and not cell.emulated,
        "each round has arrivals of its own, the same for all of its cells "
        f"({ARRIVAL_SEED} of its records); the command below has those of the first":
            cell.words.get(ARRIVAL_SEED) == DRAWN,
        f"place=free: {metric.name} also measures where the scheduler put the "
        "threads": cell.words.get("place") == "free"}
    coverage = filter(None, (matrix.coverage_text(cell, name) for name in METRICS))
    return labelled_lines([("-", note) for note in (
        *cell.reasons, *cell.remarks, *coverage, *matrix.result.notes,
        *(note for note, holds in notes.items() if holds))], width)


def subject_rows(records: Sequence[Record]) -> list[tuple[str, str]]:
    """The subject of the last run that has one: its program, and how it was started."""
    found = next((record.subject for record in reversed(records) if record.subject), {})
    rows = {name: found.get(name) for name in ("version", "package", "program", "sha256")} | {
        "runs as": found.get("user"), "started as": shlex.join(found.get("arguments", ()))}
    return [(label, text) for label, text in rows.items() if text]


def show_text(matrix: Matrix, cell: Cell, width: int) -> str:
    """The whole output: what the cell is, then the sections that have lines."""
    records = list(matrix.records_good(cell.name))
    runs, inner = [MeasuredRun(record) for record in records], width - 2
    timed = [] if cell.emulated else runs
    metrics = [METRICS[name] for name in metrics_default(matrix)]
    metric = next((one for one in metrics if not cell.hides(one)), metrics[0])
    failed = f", {cell.runs_failed} failed" if cell.runs_failed else ""
    head = [("status", f"{cell.status}, {cell.runs_ok} good runs{failed}"),
            ("words", words_text(cell.words)),
            ("machine", machines_text(matrix, [cell])), ("disturbed", disturbances_text(matrix))]
    base = matrix.baseline_find(cell)
    compared = f"; x: of {base.text}" if base is not None and base.name != cell.name else ""
    drawn = {key: value for record in records[:1] for key, value in record.words.items()
             if key == ARRIVAL_SEED}  # `By hand` repeats the first run
    labs = [record.document["lab"] for record in records if "lab" in record.document]
    sections = {
        f"Metrics (medians over rounds{compared})": labelled_lines([
            (one.name, figure_text(figure, one.unit)) for one in METRICS.values()
            if (figure := figure_build(matrix, cell, one))], inner),
        f"Two groups of rounds, by {metric.name}": regimes_lines(
            matrix, cell, runs, metric, inner),
        "Subject": labelled_lines(subject_rows(records), inner),
        "Calls and counts per message": counts_lines(runs, inner),
        "CPU per message": cpu_lines(cell, timed, inner),
        "All CPUs of the machine, share of time": ends_table({state: ends_medians(
            timed, lambda _, end, name: machine_share(end, name), state) for state in CPU_STATES},
            inner, percent_text),
        "Placement": placement_lines(runs, inner),
        "Lab": labelled_lines(facts_rows(labs[-1] if labs else {}), inner),
        "Segments as captured, of one run": labelled_lines(capture_rows(records), inner),
        "TCP_INFO (per run)": tcp_lines(runs, not cell.emulated, inner),
        "Effective options": options_lines(runs, inner),
        f"Rounds in order, {metric.name}": rounds_lines(matrix, cell, metric),
        "Notes": notes_lines(matrix, cell, metric, inner),
        "By hand": by_hand_lines([{**(cell.given or cell.words), **drawn}],
                                 folders_of(matrix.result.plan), matrix.result.plan.timer),
    }
    lines = [cell.text or cell.name, "",
             *labelled_lines([pair for pair in head if pair[1]], width)]
    for title, inside in sections.items():
        lines += ["", title, *(f"  {line}" for line in inside)] if inside else []
    return "\n".join(line.rstrip() for line in lines) + "\n"
