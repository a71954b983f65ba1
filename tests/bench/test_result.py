# SPDX-License-Identifier: MIT
"""From samples to verdicts."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from bench.contests import CONTESTS, Against, Contest, Figure
from bench.result import UNDECIDED_FEW, Row, rows_lines, rows_make, verdict_text
from bench.rounds import (
    FLOOR,
    FLOOR_AGAIN,
    OURS,
    Entry,
    Sample,
    due,
    entries_make,
    round_order,
    seconds_of,
)
from suite.observe.metrics import METRICS
from suite.stats import Interval

RATE = "messages_per_second"
CONTEST = Contest("race", "a race", "workload=request message=1 reply=1", RATE,
                  (Against("floor", 0.97), Against("netperf", 1.0)),
                  (Figure("syscalls_per_message", 2.1),), pairs=(("netperf", "floor"),))
ABSENT = {"netperf": "netserver is not installed", "iperf3": "iperf3 is not installed"}


def samples_of(who: str, rates: list[float | None], **more: float) -> list[Sample]:
    """A run a round; None is one that failed."""
    return [Sample(n, 0, "race", "together", who, {} if rate is None else {RATE: rate} | more,
                   "it broke" if rate is None else None) for n, rate in enumerate(rates, 1)]


def rows_of(*samples: list[Sample]) -> dict[str, Row]:
    """The rows by what they are held against."""
    return {row.against: row for row in rows_make({"race": CONTEST}, sum(samples, []), ABSENT)}


def test_ratios_are_paired_by_round():
    drifting = [100.0, 200, 400, 800, 1600, 3200]
    rows = rows_of(samples_of(OURS, [0.98 * rate for rate in drifting]),
                   samples_of(FLOOR, drifting), samples_of(FLOOR_AGAIN, drifting))
    assert (rows["floor"].ratio, rows["floor"].interval) == ("0.980", "0.980..0.980")
    assert (rows["floor"].budget, rows["floor"].verdict) == (">= 0.97", "reached")
    assert rows["floor"].again == "1.000..1.000"


def test_a_contender_stands_next_to_another_and_what_differs_is_a_note():
    contest = replace(CONTEST, against=(Against("floor", 0.97, 0.975),
                                        Against("netperf", differs="It has no warm-up.")))
    samples = [one for who, rate in (("netperf", 99.0), (FLOOR, 100.0), (OURS, 97.2))
               for one in samples_of(who, [rate] * 6)]
    rows = {row.against: row for row in rows_make({"race": contest}, samples, {})}
    assert rows["netperf / floor"].ratio == "0.990" and not rows["netperf / floor"].verdict
    assert rows["netperf"].notes == ("It has no warm-up.",)
    assert (rows["floor"].budget, rows["floor"].verdict) == (">= 0.975 (0.97)", "not reached")
    assert "[1] It has no warm-up." in rows_lines([*rows.values()])


@pytest.mark.parametrize("low, value, verdict", [
    (0.97, 0.975, "reached"), (0.97, 0.974, "undecided"), (0.969, 0.98, "undecided")])
def test_a_ratio_may_have_to_reach_more_than_its_interval(low, value, verdict):
    assert verdict_text(Interval(low, 0.99, 0.96), 0.97, None, value, 0.975) == verdict


def test_a_contest_may_run_in_one_of_several_rounds_and_all_its_runs_measure_the_same_time():
    assert [number for number in range(1, 6) if due(replace(CONTEST, every=2), number)] == [1, 3, 5]
    assert seconds_of(CONTEST, 0.4) == 1.0  # netperf counts whole seconds
    assert seconds_of(replace(CONTEST, against=(Against("floor"),)), 0.4) == 0.4
    assert seconds_of(replace(CONTEST, against=(Against("sockperf"),)), 0.4) == 0.55


@pytest.mark.parametrize("low, high, least, most, verdict", [
    (0.97, 0.99, 0.97, None, "reached"), (0.90, 0.969, 0.97, None, "not reached"),
    (0.96, 0.98, 0.97, None, "undecided"),
    (2.0, 2.1, None, 2.1, "reached"), (2.11, 2.2, None, 2.1, "not reached"),
    (2.0, 2.2, None, 2.1, "undecided"),
    (0.1, 0.2, None, None, ""),
])
def test_a_ratio_and_a_count_are_judged_by_their_interval(low, high, least, most, verdict):
    assert verdict_text(Interval(low, high, 0.96), least, most) == verdict


def test_fewer_than_six_rounds_decide_nothing():
    rows = rows_of(samples_of(OURS, [50.0] * 5, syscalls_per_message=9.0),
                   samples_of(FLOOR, [100.0] * 5))
    assert rows["floor"].verdict == rows["syscalls_per_message"].verdict == UNDECIDED_FEW
    assert (rows["floor"].ratio, rows["floor"].interval) == ("0.500", "")


def test_a_round_in_which_one_of_the_two_failed_is_left_out_and_told():
    rows = rows_of(samples_of(OURS, [None, *[99.0] * 6]), samples_of(FLOOR, [*[100.0] * 6, None]))
    assert rows["floor"].interval == ""  # five shared rounds
    assert rows["floor"].notes == ("uncork: 1 of 7 runs failed: it broke",
                                   "floor: 1 of 7 runs failed: it broke")


def test_a_contender_that_never_ran_is_not_installed_and_one_that_always_broke_failed():
    rows = rows_of(samples_of(OURS, [1.0]), samples_of(FLOOR, [None]))
    assert rows["netperf"].verdict == "not installed"
    assert rows["netperf"].notes == (ABSENT["netperf"],)
    assert rows["floor"].verdict == "failed"
    text = "\n".join(rows_lines(list(rows.values())))
    assert "failed [1]" in text and "not installed [2]" in text
    assert "\n[1] floor: 1 of 1 runs failed: it broke\n[2] netserver is not installed" in text


def test_a_blank_line_parts_contests():
    rows = [Row(name, "apart", "floor") for name in ("a", "a", "b", "b-c")]
    assert [line.split()[0] if line else "" for line in rows_lines(rows)[2:]] == [
        "a", "a", "", "b", "", "b-c"]


def test_a_figure_of_uncork_alone_is_a_median_with_its_interval():
    samples = [Sample(n, 0, "race", "together", OURS, {"syscalls_per_message": 2.0 + n / 100})
               for n in range(1, 7)]
    row = rows_of(samples)["syscalls_per_message"]
    assert (row.ours, row.interval, row.budget) == ("2.04", "2.01..2.06", "<= 2.1")
    assert row.verdict == "reached"


def test_every_round_has_every_run_once_in_an_order_of_its_own():
    entries = [Entry("race", "together", str(n)) for n in range(20)]
    one, two = round_order(entries, 7, 1), round_order(entries, 7, 2)
    assert sorted(one, key=str) == sorted(two, key=str) == sorted(entries, key=str)
    assert one != two and one != entries
    assert one == round_order(entries, 7, 1)


def test_only_installed_contenders_run_and_the_floor_runs_twice(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [entry.who for entry in entries_make([CONTEST])] == [OURS, FLOOR, FLOOR_AGAIN]
    for name in ("netperf", "netserver"):
        (tmp_path / name).touch(mode=0o755)
    assert [entry.who for entry in entries_make([CONTEST])] == [OURS, FLOOR, "netperf", FLOOR_AGAIN]


def test_every_contest_asks_for_metrics_that_there_are():
    for contest in CONTESTS.values():
        assert {contest.metric, *(figure.metric for figure in contest.figures)} <= METRICS.keys()
        assert contest.against or contest.figures


def test_a_sample_is_kept_with_all_that_it_has():
    good, bad = samples_of(OURS, [5.0, None])
    assert good.document()["figures"] == {RATE: 5.0} and "failed" not in good.document()
    assert bad.document()["failed"] == "it broke" and "figures" not in bad.document()
    kept = good.document().keys() | bad.document().keys()
    assert {field.name for field in fields(Sample)} == kept
