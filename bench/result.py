# SPDX-License-Identifier: MIT
"""From samples to rows: medians, ratios with intervals, and what they say of a budget. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bench.contests import Against, Contest, Figure
from bench.rounds import FLOOR, FLOOR_AGAIN, OURS, Sample
from suite.base.units import number_text, scale_choose, value_text
from suite.observe.metrics import METRICS
from suite.present.tables import markdown, terminal
from suite.present.tables.model import Column, Group, Item, Table
from suite.stats import ROUNDS_NEEDED, Interval, median, median_interval, ratio_make

UNDECIDED_FEW = f"undecided: fewer than {ROUNDS_NEEDED} rounds"


@dataclass(frozen=True)
class Row:
    """One line of the table; texts are empty where there is nothing to say."""

    contest: str
    place: str
    against: str
    ours: str = ""
    other: str = ""
    ratio: str = ""
    interval: str = ""
    again: str = ""  # the interval of the floor next to itself
    budget: str = ""
    verdict: str = ""
    notes: tuple[str, ...] = ()  # what differs, why runs failed or there were none


def verdict_text(interval: Interval | None, low: float | None, high: float | None,
                 value: float = 0.0, least: float = -math.inf) -> str:
    """Whether a figure is at least low or at most high, by its interval, and its value at least
    `least`; empty without a budget."""
    if low is None and high is None:
        return ""
    if interval is None or interval.level is None:
        return UNDECIDED_FEW
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    inside = low <= interval.low and interval.high <= high and least <= value
    outside = interval.high < max(low, least) or high < interval.low
    return "reached" if inside else "not reached" if outside else "undecided"


def interval_text(interval: Interval | None, text: Callable[[float], str]) -> str:
    """0.961..0.972; where it is only the range of few values, in brackets."""
    if interval is None:
        return ""
    ends = f"{text(interval.low)}..{text(interval.high)}"
    return ends if interval.level is not None else f"({ends})"


class Figures:
    """The samples of one contest in one place, by who and round."""

    def __init__(self, samples: Sequence[Sample], contest: str, place: str) -> None:
        self.samples = [s for s in samples if (s.contest, s.place) == (contest, place)]

    def of(self, who: str, metric: str) -> dict[int, float]:
        """A metric by round; rounds in which the run failed are not there."""
        return {s.round: s.figures[metric] for s in self.samples
                if s.who == who and metric in s.figures}

    def ran(self, who: str) -> bool:
        """Whether there was a run at all, be it a failed one."""
        return any(s.who == who for s in self.samples)

    def failures(self, *who: str) -> tuple[str, ...]:
        """For each of these whose runs failed: of how many, and the first reason."""
        notes = []
        for one in who:
            runs = [s for s in self.samples if s.who == one]
            failed = [s for s in runs if s.failed is not None]
            if failed:
                notes.append(f"{one}: {len(failed)} of {len(runs)} runs failed: {failed[0].failed}")
        return tuple(notes)


def budget_text(against: Against) -> str:
    """What the interval must reach; where the estimate must reach more, that in front."""
    if against.reach is None:
        return ""
    all_of_it = f" ({against.reach:g})" if against.estimate > against.reach else ""
    return f">= {max(against.reach, against.estimate):g}{all_of_it}"


def ratio_row(figures: Figures, contest: Contest, place: str, first: str, against: Against) -> Row:
    """first by the contender, paired by round."""
    second = against.contender
    one, other = figures.of(first, contest.metric), figures.of(second, contest.metric)
    shared = sorted(one.keys() & other.keys())
    name = second if first == OURS else f"{first} / {second}"
    notes = figures.failures(first, second)
    if not shared:
        return Row(contest.name, place, name, verdict="failed", notes=notes)
    pairs = [one[n] for n in shared], [other[n] for n in shared]
    ratio = ratio_make(*pairs, paired=True).estimate()
    unit = METRICS[contest.metric].unit
    if against.differs:
        notes = (against.differs, *notes)
    return Row(contest.name, place, name, value_text(median(pairs[0]), unit),
               value_text(median(pairs[1]), unit), f"{ratio.value:.3f}",
               interval_text(ratio.interval, "{:.3f}".format), budget=budget_text(against),
               verdict=verdict_text(ratio.interval, against.reach, None, ratio.value,
                                    against.estimate), notes=notes)


def against_rows(figures: Figures, contest: Contest, place: str, against: Against,
                 absent: Mapping[str, str]) -> list[Row]:
    """uncork by one contender, beside the floor's A/A pair; and what stands next to that one."""
    if not figures.ran(against.contender):
        reason = absent.get(against.contender)
        return [Row(contest.name, place, against.contender, verdict="not installed",
                    notes=(reason,) if reason else ())]
    rows = [ratio_row(figures, contest, place, OURS, against)]
    if against.contender == FLOOR:
        again = ratio_row(figures, contest, place, FLOOR_AGAIN, against)
        rows[0] = replace(rows[0], again=again.interval, notes=tuple(
            dict.fromkeys([*rows[0].notes, *again.notes])))
    rows += [ratio_row(figures, contest, place, first, Against(second))
             for first, second in contest.pairs if first == against.contender]
    return rows


def figure_row(figures: Figures, contest: Contest, place: str, figure: Figure) -> Row:
    """A metric of uncork alone, its median with an interval."""
    values = list(figures.of(OURS, figure.metric).values())
    failed = figures.failures(OURS)
    if not values:
        return Row(contest.name, place, figure.metric, verdict="failed", notes=failed)
    middle, interval, unit = median(values), median_interval(values), METRICS[figure.metric].unit
    scale = scale_choose([middle], unit)
    limit = "" if figure.limit is None else f"{scale.apply(figure.limit):g}"
    return Row(contest.name, place, figure.metric,
               f"{number_text(scale.apply(middle))} {scale.unit}".strip(),
               interval=interval_text(interval, lambda value: number_text(scale.apply(value))),
               budget=f"<= {limit} {scale.unit}".strip() if limit else "",
               verdict=verdict_text(interval, None, figure.limit), notes=failed)


def rows_make(contests: Mapping[str, Contest], samples: Sequence[Sample],
              absent: Mapping[str, str]) -> list[Row]:
    """The table, in the order of the contests; `absent`: why contenders are not there, by name."""
    rows = []
    for contest in contests.values():
        for place in contest.places:
            figures = Figures(samples, contest.name, place)
            for against in contest.against:
                rows += against_rows(figures, contest, place, against, absent)
            rows += [figure_row(figures, contest, place, figure) for figure in contest.figures]
    return rows


HEADS = {"contest": "contest", "place": "place", "against": "against", "ours": OURS,
         "other": "other", "ratio": "ratio", "interval": "95 %", "again": "A/A", "budget": "budget",
         "verdict": "verdict"}
UNWRAPPED = 10_000  # columns
LEFT = ("contest", "place", "against", "verdict")


def table_make(rows: Sequence[Row]) -> tuple[Table, list[tuple[str, str]]]:
    """The table, and its notes with their marks."""
    notes = list(dict.fromkeys(note for row in rows for note in row.notes))
    marks = ["".join(f" [{notes.index(note) + 1}]" for note in row.notes) for row in rows]
    columns = [Column(head, tuple(Item((getattr(row, key) + (mark if key == "verdict" else ""))
                                       .strip()) for row, mark in zip(rows, marks, strict=True)),
                      key in LEFT) for key, head in HEADS.items()]
    groups = [Group("", (column,)) for column in columns[3:]]
    return Table(tuple(columns[:3]), tuple(groups)), [
        (f"[{number}]", note) for number, note in enumerate(notes, 1)]


def rows_lines(rows: Sequence[Row]) -> list[str]:
    """The table as text, contests apart, and its notes."""
    table, notes = table_make(rows)
    return [*terminal.table_lines(table, UNWRAPPED), *([""] if notes else []),
            *(f"{mark} {note}" for mark, note in notes)]


def rows_markdown(rows: Sequence[Row], head: Sequence[tuple[str, str]],
                  foot: Sequence[tuple[str, str]]) -> list[str]:
    """The heading as a table, the table, and its foot with the notes as another."""
    table, notes = table_make(rows)
    return [*pairs_markdown(head), "", *markdown.table_lines(table), "",
            *pairs_markdown([*foot, *notes])]


def pairs_markdown(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """A table of two columns, without a head."""
    return ["| | |", "| --- | --- |",
            *(f"| {label} | {markdown.escape(text)} |" for label, text in pairs)]
