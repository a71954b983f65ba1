# SPDX-License-Identifier: MIT
"""The gates of a comparison as a document: a verdict for each gate on each row. Pure."""

import math
import shlex
from collections.abc import Iterable, Sequence
from typing import Any

from suite import stats
from suite.base import grouped, units
from suite.base.words import words_text
from suite.contrast.contrast import Unit
from suite.decide.comparison.model import Comparison
from suite.decide.gate import REGRESSION, UNDECIDED, WITHIN, Gate, GateRow, Gates
from suite.observe.frame import Matrix
from suite.present.answers import labelled
from suite.present.comparison import document, records, wording
from suite.present.table import Fields
from suite.present.tables.model import Document, Group, Pair, Section, Table, text_columns
from suite.result.plan import Plan

FIELDS = ("gate", "unit", "new_name", "row", "value", "low", "high", "limit", "noise_floor",
          "verdict", "rounds")
MEANS = {
    WITHIN: "the interval excludes everything beyond the limit",
    REGRESSION: "the whole interval is beyond the limit",
    UNDECIDED: "the interval holds the limit, or a figure is not known",
}
OUTCOMES = {0: "every row is within its limit", 3: "undecided",
            4: "nothing was compared by a gate", 5: "a regression"}
NOISES = (0.03, 0.1, 0.3)  # noise of the ratio of a round, for which a plan says how many rounds


def figure_texts(row: GateRow) -> tuple[str, str]:
    figure = row.figure
    if figure is None:
        return wording.NOTHING, wording.NOTHING
    if figure.directed:
        return wording.NOTHING, "bounds only"
    if row.gate.relative:
        first, *ends = ["inf"] if math.isinf(figure.value) else units.change_texts(*figure.span)
    else:
        first, *ends = (units.value_text(one, row.gate.metric.unit) for one in figure.span)
    return first, "exact" if row.exact else units.interval_text([first, *ends]) or wording.NOTHING


def same_of(row: GateRow) -> float | None:
    """The A/A interval of a row, a ratio; None where it is not known, or the row is exact."""
    change = row.row.changes.get(row.gate.metric.name)
    return None if row.exact or change is None else change.same


def is_open(row: GateRow) -> bool:
    """Whether more rounds may decide a row: it is undecided, and its figure is known."""
    return row.verdict == UNDECIDED and row.figure is not None


def rounds_item(row: GateRow) -> str:
    """The number of rounds that would decide an open row."""
    if not is_open(row):
        return ""
    return f"> {stats.ROUNDS_ADVISED}" if math.isinf(row.rounds) else str(int(row.rounds))


def confidence_text(gates: Gates) -> str:
    return f"{100 * (1 - gates.alpha):.4g}%"


def gates_table(gates: Gates, comparison: Comparison) -> Table:
    rows = [row for row in gates.rows if row.comparison is comparison]
    names = [{"gate": row.gate.metric.name, **row.row.axes} for row in rows]
    texts = list(map(figure_texts, rows))
    columns = {"figure": [first for first, _ in texts],
               f"{confidence_text(gates)} CI": [interval for _, interval in texts],
               "A/A": [units.noise_text(same) if (same := same_of(row)) else "" for row in rows],
               "limit": [row.gate.limit_text for row in rows],
               f"{comparison.unit.value}s": list(map(rounds_item, rows))}
    shown = text_columns({head: items for head, items in columns.items() if any(items)})
    verdicts = text_columns({"verdict": (row.verdict for row in rows)}, left=True)
    return Table(document.key_columns(["gate", *comparison.axes], names),
                 (Group("", (*shown, *verdicts)),))


def row_text(row: GateRow) -> str:
    return " ".join(filter(None, (row.gate.metric.name, words_text(row.row.axes))))


def more_lines(gates: Gates) -> list[str]:
    """The commands that add the rounds or sessions which open rows need."""
    needs: list[tuple[Matrix, float]] = []
    for row in filter(is_open, gates.rows):
        matrix = row.comparison.new.matrix
        if row.comparison.unit is Unit.SESSION:
            fewest = stats.rounds_deciding(gates.tested, row.gate.relative is False)
            wanted = max(fewest, stats.SIDES_NEEDED, 0 if math.isinf(row.rounds) else row.rounds)
            needs += [(side.matrix, wanted - len(side.sessions)) for side in row.comparison.sides]
        elif math.isfinite(row.rounds):
            needs.append((matrix, (row.rounds - matrix.rounds) / matrix.result.plan.rounds))
    times = grouped((matrix.result.folder, math.ceil(missing)) for matrix, missing in needs)
    return [f"uncork run --more {shlex.quote(str(folder))}   # "
            f"{units.counted_text(max(missing), 'time')}"
            for folder, missing in times.items() if max(missing) > 0]


def plan_text(needed: str) -> str:
    """needed: how many rounds, and of what noise."""
    return (f"a row {units.percent_text(stats.PLANNED_CHANGE - 1)} beyond its limit is found in "
            f"{units.number_text(10 * stats.PLANNED_POWER, 1)} of 10 results of {needed}")


def plan_lines(plan: Plan, gates: Iterable[Gate]) -> list[str]:
    """How many rounds gates need on the cells of a plan, for `uncork run -n`."""
    rows = sum(len(plan.compared if gate.relative else plan.runnable)
               for gate in gates if not gate.metric.whole)
    if not rows:
        return ["gate: counts that are the same in every run are decided by 2 rounds"]
    needs = [f"{needed} rounds where ratios of rounds vary by {units.percent_text(noise)}"
             for noise in NOISES if math.isfinite(needed := stats.rounds_planned(noise, rows))]
    return [f"gate: {stats.rounds_deciding(rows)} rounds are the fewest that decide "
            f"{units.counted_text(rows, 'row')}", f"gate: {plan_text(', '.join(needs))}"]


def gates_foot(gates: Gates, comparisons: Sequence[Comparison]) -> list[Pair]:
    verdicts = dict.fromkeys(row.verdict for row in gates.rows)
    pairs: list[Pair] = [(verdict, text) for verdict, text in MEANS.items()
                         if verdict in verdicts]
    if gates.tested:
        every = f"all {units.counted_text(gates.tested, 'row')} together"
        pairs.append(("CI", f"each has a confidence of {confidence_text(gates)}, so that {every} "
                            "have 95% (Bonferroni); exact counts need none"))
    planned = max((row.planned for row in gates.rows if row.planned is not None), default=None)
    if planned is not None:
        rounds = f"more than {stats.ROUNDS_ADVISED}" if math.isinf(planned) else int(planned)
        pairs.append(("plan", plan_text(f"{rounds} {gates.rows[0].comparison.unit.value}s, "
                                        "by the noise of this one")))
    pairs += [("note", f"{row_text(row)}: {row.why}") for row in gates.rows if row.why]
    if any(row.gate.relative and row.gate.limit == 1 for row in filter(is_open, gates.rows)):
        pairs.append(("note", "a limit of 0% passes only a row that changed to the other side; "
                              "a limit of 3% passes one that is the same"))
    pairs += [("note", text) for text in dict.fromkeys(text for one in comparisons
                                                       for text in one.notes)]
    pairs += [("missing", f"{gate.text}: no row knows this metric") for gate in gates.missing]
    pairs += labelled("to decide", more_lines(gates))
    counts = [f"{sum(row.verdict == verdict for row in gates.rows)} {verdict}"
              for verdict in MEANS if verdict in verdicts]
    return [*pairs, ("gate", f"{OUTCOMES[gates.status]} ({', '.join(counts) or 'no row'}): "
                             f"exit status {gates.status}")]


def sides_heads(comparison: Comparison) -> list[Pair]:
    if comparison.base is comparison.new:
        return [("cells", words_text(comparison.new.words) or "all; nothing is compared")]
    return document.sides_pairs(comparison)


def row_record(row: GateRow) -> Fields:
    """FIELDS and axes of one row, in base units; a change is a fraction."""
    known = row_json(row)
    low, high = known["interval"] or (None, None)
    return {"unit": "change" if row.gate.relative else row.gate.metric.unit,
            "new_name": row.comparison.new.name, "row": "cell", **row.row.axes,
            "value": known["figure"], "low": low, "high": high, "rounds": rounds_item(row),
            **{key: known[key] for key in ("gate", "limit", "noise_floor", "verdict")}}


def row_json(row: GateRow) -> dict[str, Any]:
    """One row as JSON; infinite figures are null."""
    offset, figure = float(row.gate.relative), row.figure  # a ratio becomes a change

    def known(value: float) -> float | None:
        return value - offset if math.isfinite(value) else None

    return {"gate": row.gate.text, "metric": row.gate.metric.name, "relative": row.gate.relative,
            "limit": row.gate.limit - offset, **records.row_json(row.row),
            "figure": known(figure.value) if figure else None,
            "interval": list(map(known, figure.interval[:2])) if figure and figure.interval
            else None,
            "exact": row.exact, "noise_floor": wording.floor_fraction(same_of(row)),
            "verdict": row.verdict, "why": row.why or None,
            "rounds": int(row.rounds) if math.isfinite(row.rounds) and not row.exact else None}


def gates_document(gates: Gates, comparisons: Sequence[Comparison]) -> Document:
    sections = [Section(sides_heads(one), [gates_table(gates, one)] if gates.rows else ())
                for one in comparisons]
    return Document(document.title_of(comparisons[0]), sections, gates_foot(gates, comparisons),
                    fields=[*FIELDS[:4], *wording.axes_of(comparisons), *FIELDS[4:]],
                    records=lambda: map(row_record, gates.rows),
                    data=lambda: records.comparisons_json(comparisons) | {
                        "gates": [row_json(row) for row in gates.rows],
                        "missing": [gate.text for gate in gates.missing],
                        "confidence": 1 - gates.alpha, "status": gates.status})
