# SPDX-License-Identifier: MIT
"""The cells that words select, the axes that name the rows of a table, and the metrics of its
columns. Pure; every command that reads a result uses it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from suite.base.errors import UsageError, nearest_hint
from suite.base.runner_words import subject_of
from suite.base.words import words_text
from suite.observe.frame import Cell, Matrix
from suite.observe.metrics import METRICS, metric_find
from suite.scenario.scenario import TableLayout

Selection = Mapping[str, str]


def cells_select(matrix: Matrix, words: Selection, own: Iterable[str] = ()) -> list[Cell]:
    """The cells that have, for every word, one of its values. A narrowed matrix has only its shown
    cells and their baselines. UsageError if there is none, or for a word or value that no cell has.
    own: words of the command, for the hint."""
    name, every = matrix.result.name, matrix.whole.cells.values()
    for key, value in words.items():
        values = dict.fromkeys(cell.words[key] for cell in every if key in cell.words)
        if not values:
            known = dict.fromkeys([*(key for cell in every for key in cell.words), *own])
            hint = nearest_hint(key, known) or f" (here vary {', '.join(matrix.axes) or 'none'})"
            raise UsageError(f'"{key}={value}": no word {key} in {name}{hint}')
        for part in value.split(","):
            if part not in values:
                raise UsageError(f'"{key}={value}": no cell of {name} has {key}={part}'
                                 f"{nearest_hint(part, values)}")
    cells = [cell for cell in matrix.cells_compared
             if all(cell.words.get(key) in value.split(",") for key, value in words.items())]
    if not cells:
        raise UsageError(f'no cell of {name} has "{words_text(words)}"')
    return cells


def matrix_narrow(matrix: Matrix, words: Selection, own: Iterable[str] = ()) -> Matrix:
    """The matrix that shows only the cells of cells_select(). Ratios and verdicts stay those of all
    cells."""
    if not words:
        return matrix
    cells = cells_select(matrix, words, own)
    return replace(matrix, cells={cell.name: cell for cell in cells}, narrowed_from=matrix)


def left_out_text(matrix: Matrix, words: Selection) -> str:
    """What follows from damage, and how many cells a narrowed matrix does not show; empty if it
    shows all of a whole result."""
    every = len(matrix.whole.cells)
    left_out = every - len(matrix.cells)
    text = f"left out {left_out} of {every} cells of {matrix.result.name}: not {words_text(words)}"
    return "; ".join(filter(None, (matrix.result.damage_text, text if left_out else "")))


class Layout(NamedTuple):
    """rows: axes that name the rows. across: axes whose values are columns. metrics: names, in the
    order of their columns. best: the axis whose best value is asked for, or None."""

    rows: tuple[str, ...]
    across: tuple[str, ...]
    metrics: tuple[str, ...]
    best: str | None = None


def layout_choose(matrix: Matrix, asked: TableLayout) -> Layout:
    """The layout from the names asked for (empty: the default), without words that do not vary. An
    axis that is not named becomes a row, so that no cell is hidden. UsageError for other names."""
    known = set(matrix.axes).union(*(cell.words for cell in matrix.whole.cells.values()))
    for what, names, others in (("rows", asked.rows, ()), ("columns", asked.columns, METRICS),
                                ("best", [asked.best] if asked.best else [], ())):
        for name in names:
            if name not in known and name not in others:
                kinds = "word or metric" if others else "word"
                raise UsageError(f'{what}: no {kinds} "{name}" in this result'
                                 f"{nearest_hint(name, [*others, *sorted(known)])}")
    metrics, scenario = metrics_shown(matrix, asked.columns), matrix.result.scenario
    if asked.columns == scenario.table.columns:  # not chosen by the reader: what is answered, too
        metrics = tuple(dict.fromkeys([*metrics, *(
            metric_find(one.metric, "scenario.toml: [answer] metric").name
            for one in scenario.answers)]))
    if asked.gain and metric_find(asked.gain, "gain").name not in metrics:
        metrics = (asked.gain, *metrics)
    across = tuple(name for name in asked.columns if name in matrix.axes)
    best = asked.best if asked.best in matrix.axes else None
    rows = [axis for axis in dict.fromkeys([*asked.rows, *matrix.axes])
            if axis in matrix.axes and axis not in across]
    rows.sort(key=lambda axis: axis == best)  # last, so that groups are together
    return Layout(tuple(rows), across, metrics, best)


# The metrics of the client for those that need figures of a foreign peer.
SUBSTITUTES = {"bandwidth": "messages_per_second", "cpu_per_message": "client_cpu_per_message",
             "cpu_per_byte": "client_cpu_per_message"}


def metrics_shown(matrix: Matrix, columns: Iterable[str]) -> tuple[str, ...]:
    """The metrics among the columns of a table, else metrics_default()."""
    return tuple(name for name in columns if name in METRICS) or metrics_default(matrix)


def metrics_default(matrix: Matrix) -> tuple[str, ...]:
    """The metrics of a table without columns=, chosen by what the cells do."""
    def known(name: str) -> bool:
        return bool(matrix.frame[name].notna().any())

    if known("subject_cpu") and known("messages_per_second"):  # the load has a set duration
        return "messages_per_second", "client_cpu_per_message", "server_cpu_per_message"
    if known("subject_cpu"):
        split = any("user" not in cell.unsplit for cell in matrix.cells.values())
        return ("time", "load_cpu", *(("user", "system") if split else ()), "subject_cpu")
    if matrix.frame["hyperfine"].any():
        return ("time", "user", "system", "softirq")
    names = metrics_for_replies(matrix, metrics_of_workload(matrix))
    names = tuple(name if known(name) else SUBSTITUTES.get(name, name) for name in names)
    return tuple(filter(known, names)) or names  # a metric without values needs no column


def metrics_for_replies(matrix: Matrix, names: tuple[str, ...]) -> tuple[str, ...]:
    """Metrics per reply instead of per message if words of the reply vary; both if both vary."""
    def varies(*words: str) -> bool:
        return any(len({cell.words.get(word) for cell in matrix.whole.cells.values()}) > 1
                   for word in words)

    if not varies("reply", "reply_write"):
        return names
    replies = {name: name.replace("_per_message", "_per_reply") for name in names}
    both = varies("message", "write")
    return tuple(dict.fromkeys(one for name, reply in replies.items() for one in (
        (name, reply) if both or reply not in METRICS else (reply,)) if one in METRICS))


def metrics_of_workload(matrix: Matrix) -> tuple[str, ...]:
    """The usual metrics for the workload of the cells: the first case that fits."""
    cells = list(matrix.whole.cells.values())
    workloads = {cell.words.get("workload") for cell in cells}
    several = any(cell.words.get(key, "1") != "1" for cell in cells
                  for key in ("connections", "depth"))
    return next(names for holds, names in (
        (workloads == {"proxy"}, (
            "bandwidth", "segments_per_message", "records_per_message", "proxy_sends_per_message",
            "proxy_syscalls_per_message", "proxy_cpu_per_byte")),
        (workloads == {"stream"}, (
            "bandwidth", "segments_per_message", "records_per_message", "sends_per_message",
            "cpu_per_byte")),
        (any(cell.open_loop for cell in cells), (
            "latency_p50", "latency_p99", "requests_late", "cpu_per_message")),
        (workloads == {"connect"}, (
            "messages_per_second", "handshakes_per_second", "handshake_p50", "handshake_p99",
            "latency_p50", "latency_p99", "cpu_per_message")),
        (any(cell.words.get("handoff") == "thread" for cell in cells), (
            "latency_p50", "latency_p99", "handover_p50", "handover_p99", "cpu_per_message")),
        (any(subject_of(words) or ("peer" in words and words.get("protocol", "raw") != "raw")
             for words in (cell.words for cell in cells)), (
            "messages_per_second" if several else "time_per_message", "latency_p50",
            "segments_per_reply", "records_per_reply", "reads_per_reply",
            "server_cpu_per_message")),  # what the client sees, and the CPU of a subject
        (several, (
            "messages_per_second", "latency_p99", "segments_per_message", "records_per_message",
            "sends_per_message", "cpu_per_message")),
        (True, (
            "time_per_message", "segments_per_message", "records_per_message",
            "sends_per_message", "cpu_per_message")),
    ) if holds)
