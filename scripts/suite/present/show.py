# SPDX-License-Identifier: MIT
"""`uncork show`: explains one cell from its records. Figures per message are medians over the good
counted runs. The rounds follow in order, with outliers marked and never dropped."""

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from suite import stats
from suite.base.by_hand import by_hand_lines
from suite.base.errors import UsageError
from suite.base.lab_words import facts_rows
from suite.base.runner_words import ARRIVAL_SEED, DRAWN, EXACT_ONLY
from suite.base.units import count_text, percent_text, value_text
from suite.base.words import words_split, words_text
from suite.decide.summary import Figure, figure_build
from suite.observe.frame import Cell, Matrix
from suite.observe.measured import NANOSECOND, MeasuredRun
from suite.observe.metrics import CPU_STATES, METRICS, Metric
from suite.observe.selection import cells_select, metrics_default
from suite.present.columns import ratio_item
from suite.present.heading import UNSPLIT_NOTE, disturbances_text, machines_text, uncounted_note
from suite.present.tables.model import Column, Document, Group, Item, Pair, Section, Table
from suite.present.tables.terminal import render
from suite.result.plan import folders_of
from suite.result.record import ENDS, Record

CANDIDATES_SHOWN = 12
REGIMES_DIFFER = 0.1  # groups of rounds show what differs by this fraction or more
SEGMENTS_SHOWN, SIZES_SHOWN = 12, 8
END_WORDS = ("engine", "write", "read", "security", "library")
TCP_STATES = ("cwnd_segments", "rtt_ns", "min_rtt_ns", "peer_window_bytes",
              "largest_peer_window_bytes")
COUNTS = {  # by the path in a thread of a record: the label of a count
    "write_calls": "all writing",
    "read_calls": "all reading",
    "would_block": "that would have blocked",
    "chunks_sent": "chunks sent on",
    "groups_sent": "groups sent on",
    "tcp_info.data_segs_out.sum": "data segments out",
    "records_sent": "TLS records out",
    "records_received": "TLS records in",
    "tls_bytes_sent": "TLS bytes out",
    "tls_bytes_received": "TLS bytes in",
    "cpu.voluntary_switches": "voluntary switches",
    "cpu.forced_switches": "forced switches",
    "cpu.migrations": "migrations",
}


def cell_choose(matrix: Matrix, words: Sequence[str]) -> Cell:
    """The only cell with all these words. UsageError lists the candidates if there are several."""
    cells = cells_select(matrix, words_split(" ".join(words).split()))
    if len(cells) > 1:
        raise UsageError(f"{len(cells)} cells are meant, name one: {cells_text(cells)}")
    return cells[0]


def cells_text(cells: Sequence[Cell]) -> str:
    """The words by which the cells differ; of many cells the first ones and a count."""
    names = [cell.text or cell.name for cell in cells]
    more = len(names) - CANDIDATES_SHOWN
    return "; ".join(names[:CANDIDATES_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def figure_text(figure: Figure, unit: str) -> str:
    """`15.1 us, 95 % interval 15.0 us to 15.3 us; 0.92x [0.91, 0.94]`."""
    spread = f"the same in every run of {figure.rounds} rounds" if figure.exact else "one round"
    if figure.interval:
        low, high = (value_text(end, unit) for end in figure.interval[:2])
        spread = f"{'95 % interval' if figure.interval.level else 'min..max'} {low} to {high}"
    ratio = f"; {ratio_item(figure)}" if figure.ratio and figure.median else ""
    return f"{value_text(figure.median, unit)}, {spread}{ratio}"


def frame_tables(frame: pd.DataFrame) -> list[Table]:
    """A table of the frame, whose index names the rows; none if it has no value. Keys in `_ns` are
    times, other numbers are counts. A row or column without any value is left out."""
    def text(key: str, value: Any) -> str:
        if isinstance(value, str):
            return value
        if pd.isna(value):
            return ""
        return value_text(value * NANOSECOND, "s") if key.endswith("_ns") else count_text(value)

    shown = frame.dropna(how="all").dropna(axis="columns", how="all")
    keys = Column("", tuple(Item(key.removesuffix("_ns")) for key in shown.index), left=True)
    columns = [Column(head, tuple(Item(text(key, value)) for key, value in column.items()))
               for head, column in shown.items()]
    return [Table((keys,), tuple(Group("", (column,)) for column in columns))] if columns else []


def ends_medians(frame: pd.DataFrame) -> pd.DataFrame:
    """The medians over runs. frame: indexed by end and run."""
    return frame.groupby("end").median().T.reindex(columns=ENDS)


def threads_sums(numbers: pd.DataFrame) -> pd.DataFrame:
    """The sums over the threads of an end in a run; NaN where a thread lacks the number. A thread
    does not list the calls that it never made."""
    calls = numbers.filter(regex=r"^calls\.").fillna(0)
    by_end = numbers.assign(**calls).groupby(["end", "run"])
    return by_end.sum().where(by_end.count().eq(by_end.size(), axis="index"))


def threads_frame(runs: Sequence[MeasuredRun]) -> pd.DataFrame:
    """A row for each data thread of each run, indexed by end and run: what is known of it by path
    (`tcp_info.rtt_ns.sum`), and END_WORDS and the machine of its end."""
    rows = [{"end": name, "run": number, **thread,
             **{key: end[key] for key in (*END_WORDS, "machine") if key in end}}
            for number, run in enumerate(runs) for name, end, thread in run.record.threads()]
    frame = pd.json_normalize(rows) if rows else pd.DataFrame(columns=["end", "run"])
    return frame.convert_dtypes().set_index(["end", "run"])


def counts_frame(per_message: pd.DataFrame) -> pd.DataFrame:
    """Calls by kind, then COUNTS, per message."""
    known = ends_medians(per_message)
    calls = sorted(path for path in known.index if path.startswith("calls."))
    known.loc[calls] = known.loc[calls].replace(0, np.nan)
    return known.reindex([*calls, *COUNTS]).rename(
        lambda path: COUNTS.get(path, path.removeprefix("calls.")))


def cpu_frame(cell: Cell, per_message: pd.DataFrame) -> pd.DataFrame:
    """CPU time per message. Sums come before medians, because parts differ by round."""
    parts = per_message.reindex(columns=["cpu.user_ns", "cpu.system_ns"])
    parts.insert(0, "cpu.all_ns", parts.sum(axis="columns", skipna=False))
    shown = ends_medians(parts).rename(lambda path: path.removeprefix("cpu."))
    for end, part in product(ENDS, ("user", "system")):
        if f"{end}_{part}" in cell.unsplit:
            shown.loc[f"{part}_ns", end] = np.nan
    return shown


def machine_frame(numbers: pd.DataFrame) -> pd.DataFrame:
    """The shares of CPU_STATES in the time of all CPUs of an end's machine, as texts."""
    times = numbers.reindex(columns=[f"machine.{state}_ns" for state in CPU_STATES])
    shares = ends_medians(times.div(times.sum(axis="columns"), axis="index"))
    return shares.set_axis(CPU_STATES).apply(
        lambda column: column.map(percent_text, na_action="ignore"))


def tcp_frame(numbers: pd.DataFrame, sums: pd.DataFrame, timed: bool) -> pd.DataFrame:
    """TCP_INFO. TCP_STATES are medians over connections; all others are sums over connections, of
    which the median over runs is shown. timed: also show times."""
    states, totals = ends_medians(numbers), ends_medians(sums)
    keys = dict.fromkeys(path.split(".")[1] for path in numbers if path.startswith("tcp_info."))
    return pd.DataFrame({
        key: figures if key.endswith("_ns") else figures.map("{:.10g}".format, na_action="ignore")
        for key in keys if timed or not key.endswith("_ns")
        for figures in [states.loc[f"tcp_info.{key}.median"] if key in TCP_STATES else
                        totals.loc[f"tcp_info.{key}.sum"]]}).T


def regimes_frame(matrix: Matrix, cell: Cell, per_message: pd.DataFrame, metric: Metric
                  ) -> pd.DataFrame:
    """The two groups of rounds of a cell, if there are two: the medians of what differs between
    them, so that one sees what the slow rounds did."""
    series = matrix.series(cell.name, metric.name)
    found = stats.regimes_of(series.values) if series.positive and not series.censored else None
    if found is None:
        return pd.DataFrame()
    counts = per_message.reindex(columns=list(COUNTS)).unstack("end")
    counts.columns = [f"{end} {COUNTS[path]} per message" for path, end in counts.columns]
    rows = matrix.frame[list(METRICS)].iloc[matrix.result.runs.value_rows(cell.name)]
    figures = rows.reset_index(drop=True).join(counts).dropna(axis="columns")
    groups = figures.groupby(figures[metric.name] > found.limit)
    texts = {name: [value_text(value, METRICS[name].unit if name in METRICS else "1")
                    for value in pair] for name, pair in groups.median().items()
             if not math.isclose(*pair, rel_tol=REGIMES_DIFFER, abs_tol=1e-12)}
    return pd.DataFrame(texts, index=[f"{size} rounds" for size in groups.size()]).T


def variants_text(values: Iterable[Any]) -> str:
    """The different values in order of occurrence; more than four numbers become a range."""
    different = list(dict.fromkeys(values))
    if len(different) > 4 and all(isinstance(value, int | float) for value in different):
        return f"{min(different)} to {max(different)}"
    return ", ".join(("off", "on")[value] if isinstance(value, bool) else str(value)
                     for value in different)


def options_frame(threads: pd.DataFrame) -> pd.DataFrame:
    """The CPUs that threads asked for and those on which they ran, what the ends chose, and the
    options of their sockets: the different values at each end, as texts."""
    cpus = threads.reindex(columns=["cpus.asked", "cpus.start", "cpus.end"]).dropna(how="all")
    asked = cpus["cpus.asked"].explode().map(lambda cpu: "free" if pd.isna(cpu) else cpu)
    columns = {"CPUs asked": asked,
               "CPUs used": pd.concat([cpus["cpus.start"], cpus["cpus.end"]]),
               **{path.removeprefix("options."): threads[path] for path in threads
                  if path in END_WORDS or path.startswith("options.")
                  and path != "options.clamped"}}
    texts = {name: {end: variants_text(values.dropna().astype(object).tolist()) or None
                    for end, values in column.groupby("end")} for name, column in columns.items()}
    return pd.DataFrame(texts).T.reindex(columns=ENDS)


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
    """The capture of one run (docs/record.md, "Captured segments"): the run whose packets were
    kept, else the last one with a capture."""
    known = [(client["capture"], record.round) for record in records
             if "capture" in (client := record.end("client") or {})]
    if not known:
        return []
    capture, number = next((pair for pair in known if "file" in pair[0]), known[-1])
    where = f"{capture['device']}, {capture['stored_packets']} packets of round {number}"
    rows = {"captured on": where, "client sent": sizes_text(capture["sent"]),
            "client received": sizes_text(capture["received"]), "packets": capture.get("file", "")}
    return [(label, text) for label, text in rows.items() if text]


def rounds_frame(matrix: Matrix, cell: Cell, metric: Metric) -> pd.DataFrame:
    """Every counted run in order, as texts: the value of the metric, or why there is none."""
    rows = matrix.frame[(matrix.frame["cell"] == cell.name) & (matrix.frame["round"] > 0)]
    good = rows.loc[rows["status"] == "ok", metric.name].dropna()
    outliers = good.index[stats.outliers_mark(good.tolist())]
    texts = {}
    for index, row in rows.sort_values(["round", "label"]).iterrows():
        value, remark = row["status"], row["reason"] or None
        if index in good.index:
            known = stats.Beyond if metric.name in row["censored"] else float
            value, remark = value_text(known(good[index]), metric.unit), None
        texts[f"round {row['round']} {row['label']}"] = (
            value, "outlier" if index in outliers else remark)
    return pd.DataFrame(texts, index=["value", "remark"]).T


def notes_of(matrix: Matrix, cell: Cell, metric: Metric) -> list[str]:
    segments = "segments_per_message"
    measured = len(matrix.series(cell.name, segments)) > 1 and not matrix.is_exact(cell.name,
                                                                                 segments)
    notes = {
        f"{cell.emulated}: {EXACT_ONLY}": cell.emulated,
        f"{segments} differs between runs: a measurement, not exact": measured,
        uncounted_note(cell): cell.uncounted,
        f"not shown, {', '.join(sorted(cell.unsplit))}: {UNSPLIT_NOTE}":
            cell.unsplit and not cell.emulated,
        "each round has arrivals of its own, the same for all of its cells "
        f"({ARRIVAL_SEED} of its records); the command below has those of the first":
            cell.words.get(ARRIVAL_SEED) == DRAWN,
        f"place=free: {metric.name} also measures where the scheduler put the "
        "threads": cell.words.get("place") == "free"}
    coverage = (matrix.coverage_text(cell, name) for name in METRICS)
    return [*cell.reasons, *cell.remarks, *filter(None, coverage), *matrix.result.notes,
            *(note for note, holds in notes.items() if holds)]


def subject_rows(records: Sequence[Record]) -> list[tuple[str, str]]:
    """The subject of the last run that has one: its program, and how it was started."""
    found = next((record.subject for record in reversed(records) if record.subject), {})
    rows = {name: found.get(name) for name in ("version", "package", "program", "sha256")} | {
        "runs as": found.get("user"), "started as": shlex.join(found.get("arguments", ()))}
    return [(label, text) for label, text in rows.items() if text]


def counted_sections(matrix: Matrix, cell: Cell, metric: Metric, runs: Sequence[MeasuredRun]
                     ) -> dict[str, pd.DataFrame]:
    """What the threads of the runs counted, by title."""
    threads = threads_frame(runs)
    numbers = threads.select_dtypes("number").astype(float)
    sums = threads_sums(numbers)
    messages = pd.Series([run.messages for run in runs], dtype=float).replace(0, np.nan)
    per_message = sums.div(messages.rename_axis("run"), axis="index", level="run")
    timed = {} if cell.emulated else {
        "CPU per message": cpu_frame(cell, per_message),
        "All CPUs of the machine, share of time": machine_frame(numbers)}
    return {f"Two groups of rounds, by {metric.name}": regimes_frame(
                matrix, cell, per_message, metric),
            "Calls and counts per message": counts_frame(per_message), **timed,
            "TCP_INFO (per run)": tcp_frame(numbers, sums, not cell.emulated),
            "Placement and effective options": options_frame(threads),
            f"Rounds in order, {metric.name}": rounds_frame(matrix, cell, metric)}


def show_text(matrix: Matrix, cell: Cell, width: int) -> str:
    """The whole output: what the cell is, then the sections that have something to show."""
    records = list(matrix.records_good(cell.name))
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
    facts: dict[str, Sequence[Pair]] = {
        "Subject": subject_rows(records), "Lab": facts_rows(labs[-1] if labs else {}),
        "Segments as captured, of one run": capture_rows(records),
        f"Metrics (medians over rounds{compared})": [
            (one.name, figure_text(figure, one.unit)) for one in METRICS.values()
            if (figure := figure_build(matrix, cell, one))]}
    counted = counted_sections(matrix, cell, metric, list(map(MeasuredRun, records)))
    notes = [("-", note) for note in notes_of(matrix, cell, metric)]
    by_hand = by_hand_lines([{**(cell.given or cell.words), **drawn}],
                            folders_of(matrix.result.plan), matrix.result.plan.timer)
    sections = [Section([pair for pair in head if pair[1]], []),
                *(Section(pairs, [], title) for title, pairs in facts.items()),
                *(Section([], frame_tables(frame), title) for title, frame in counted.items()),
                Section(notes, [], "Notes"),
                Section([], [Table(title=line) for line in by_hand], "By hand")]
    return render(Document(cell.text or cell.name, [
        section for section in sections if section.head or section.tables]), width)
