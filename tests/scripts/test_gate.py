# SPDX-License-Identifier: MIT
"""Gates of `compare --fail-if`: their grammar, their verdicts and exit statuses, and how often they
are wrong."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace

import pytest
from sessions_make import recipe_sessions, sessions_write

from answers import NODELAY, golden_check, matrix_of, refused, uncork
from readers import comparisons_of
from simulated import METRIC, NOISES, matrix_identical
from suite import stats
from suite.contrast.contrast import Unit, Verdict, contrast_of
from suite.contrast.verdicts import Family, Judged
from suite.decide.comparison.build import change_make, compare_baseline
from suite.decide.comparison.model import Comparison, Row, Side
from suite.decide.gate import REGRESSION, UNDECIDED, gate_parse, gates_decide, limit_verdict
from suite.observe.metrics import METRICS
from test_truth import RESULTS
from truth import Truth, truth_write

TIME, ROWS = METRICS[METRIC], 10
GATES_AA, GATES_FEW, FALSE_MOST = 1000, 30, 0.065
PILOT = 10  # rounds of a result from which a gate is planned
PAIR = ("write=nodelay", "write=cork")


def gated(*arguments, status):
    """What a gate prints, which must end with this status."""
    done = uncork("compare", *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("text, gate", [
    ("time_per_message > +3%", ("time_per_message", True, 1.03, True, "> +3%")),
    ("time_per_message>3%", ("time_per_message", True, 1.03, True, "> +3%")),
    ("bandwidth < -2.5 %", ("bandwidth", False, 0.975, True, "< -2.5%")),
    ("time_per_message > 0%", ("time_per_message", True, 1.0, True, "> 0%")),
    ("segments_per_message > 1", ("segments_per_message", True, 1.0, False, "> 1")),
    ("latency_p99 > 30us", ("latency_p99", True, 30e-6, False, "> 30 us")),
    ("latency_p99 > 30 µs", ("latency_p99", True, 30e-6, False, "> 30 µs")),
    ("bandwidth < 1.5gbit/s", ("bandwidth", False, 1.5e9, False, "< 1.5 gbit/s")),
    ("messages_per_second < 20k/s", ("messages_per_second", False, 2e4, False, "< 20 k/s")),
    ("peer_window < 65536", ("peer_window", False, 65536.0, False, "< 65536")),
])
def test_a_gate_limits_a_change_or_a_figure(text, gate):
    found = gate_parse(text)
    assert (found.metric.name, found.above, pytest.approx(found.limit), found.relative,
            found.limit_text) == gate


@pytest.mark.parametrize("text, says", [
    ("", "a gate is METRIC > LIMIT"), ("time_per_message", "a gate is METRIC > LIMIT"),
    ("time_per_message >= 3%", "a gate is METRIC > LIMIT"),
    ("time_per_message > 3% or so", "a gate is METRIC > LIMIT"),
    ("time_per_massage > 3%", "did you mean time_per_message?"),
    ("time_per_message > 30", "is in s, ms, us, ns: give the limit one of these units"),
    ("time_per_message > 30kB", "is in s, ms, us, ns"),
    ("segments_per_message > 1us", "is a count and has no unit"),
    ("segments_per_message > +1", "segments_per_message > +1%"),
    ("time_per_message < -100%", "a change is above -100%"),
])
def test_anything_else_is_one_line_that_says_what_would_be_right(text, says):
    assert says in refused("compare", NODELAY, *PAIR, "--fail-if", text)


def test_what_else_a_gate_refuses():
    gate = ("--fail-if", "time_per_message > 3%")
    assert "is given twice" in refused("compare", NODELAY, *gate, *gate)
    for more in ("columns=time", "geomean=all", "--hgrm"):
        assert "--fail-if prints its gates" in refused("compare", NODELAY, *gate, more)
    assert "uncork compare RESULT --fail-if" in refused("run", "quick", *gate)


def estimate(low, value, high):
    """A ratio with its interval."""
    return stats.Estimate(value, stats.Interval(low, high, 0.95), 10)


@pytest.mark.parametrize("figure, limit, above, verdict", [
    (estimate(0.99, 1.0, 1.02), 1.03, True, "within"),
    (estimate(0.99, 1.0, 1.03), 1.03, True, "within"),
    (estimate(0.99, 1.0, 1.04), 1.03, True, "undecided"),
    (estimate(1.04, 1.06, 1.08), 1.03, True, "regression"),
    (estimate(1.03, 1.06, 1.08), 1.03, True, "undecided"),
    (estimate(0.99, 1.0, 1.01), 0.9, True, "regression"),
    (estimate(0.9, 0.92, 0.94), 0.97, False, "regression"),
    (estimate(0.98, 0.99, 1.0), 0.97, False, "within"),
    (estimate(1.0, 2.0, 3.0), 0.0, True, "regression"),
    (stats.Estimate(1.2, None, 3), 1.03, True, "undecided"),
    (estimate(math.inf, math.inf, math.inf), 1.5, True, "regression"),  # a count begins at 0
])
def test_the_interval_beside_the_limit_decides(figure, limit, above, verdict):
    assert limit_verdict(figure.interval, limit, above) == verdict
    if figure.interval and limit:  # the same of the reciprocals
        turned = estimate(1 / figure.interval.high, 1 / figure.value, 1 / figure.interval.low)
        assert limit_verdict(turned.interval, 1 / limit, not above) == verdict


def test_a_gate_prints_its_rows_and_ends_with_what_they_came_to():
    gates = ("--fail-if", "time_per_message > +3%", "--fail-if", "segments_per_message > 1")
    golden_check("gate.txt", gated(NODELAY, *PAIR, *gates, status=5))
    assert "apart" not in gated(NODELAY, *PAIR, "place=together", *gates, status=0)
    missing = ("--fail-if", "handshake_p50 > 3%")
    assert "compared by a gate" in gated(NODELAY, *PAIR, *missing, status=4)
    gated(NODELAY, *PAIR, "--fail-if", "time_per_message > +3%", *missing, status=5)
    gated(NODELAY, *PAIR, "--fail-if", "time_per_message > +5%", *missing, status=4)
    tight = gated(NODELAY, *PAIR, "--fail-if", "time_per_message > +4.5%", status=3)
    assert "uncork run --more" in tight and "undecided" in tight


def test_all_rows_and_gates_of_a_command_are_one_family():
    one = gated(NODELAY, *PAIR, "place=apart", "--fail-if", "time_per_message > +3%", status=5)
    both = gated(NODELAY, *PAIR, "--fail-if", "time_per_message > +3%",
                 "--fail-if", "latency_p50 > 9%", status=3)
    assert " 95% CI" in one and " 98.75% CI" in both
    exact = gated(NODELAY, *PAIR, "place=apart", "--fail-if", "time_per_message > +3%",
                  "--fail-if", "segments_per_message > 1", status=5)
    assert " 95% CI" in exact  # which counts need none of


def test_programs_read_the_same_of_a_gate():
    words = (NODELAY, *PAIR, "--fail-if", "time_per_message > +3%")
    whole = json.loads(gated(*words, "--json", status=5))
    rows = list(csv.DictReader(io.StringIO(gated(*words, "--csv", status=5))))
    assert whole["status"] == 5 and whole["confidence"] == 0.975
    assert [row["verdict"] for row in whole["gates"]] == ["within", "regression"] == [
        row["verdict"] for row in rows]
    for one, line in zip(whole["gates"], rows, strict=True):
        assert one["limit"] == pytest.approx(0.03)
        assert one["figure"] == pytest.approx(float(line["value"]))
        assert one["interval"] == pytest.approx([float(line["low"]), float(line["high"])])
    assert "| regression" in gated(*words, "--md", status=5)


def test_a_limit_of_figures_needs_no_second_side(tmp_path):
    folder = truth_write("alone", Truth(sweep={"write": ["more"]}, segments={"write=more": 15}),
                         tmp_path)
    assert " exact " in gated(folder, "--fail-if", "segments_per_message > 1", status=5)
    within = gated(folder, "--fail-if", "segments_per_message > 15", "--json", status=0)
    assert [row["verdict"] for row in json.loads(within)["gates"]] == ["within"]
    assert "nothing to compare" in refused("compare", folder, "--fail-if", "time > 3%")


def test_a_new_side_that_fails_is_undecided_and_never_within(tmp_path):
    folder = truth_write("broken", Truth(fails={"write=cork place=apart": range(30)}), tmp_path)
    text = gated(folder, *PAIR, "--fail-if", "time_per_message > +30%", status=3)
    assert "new: failed: server: connection reset by peer" in " ".join(text.split())


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two results by name and number of sessions: new takes a fifth longer."""
    folder = tmp_path_factory.mktemp("gates")
    return {f"{name}{count}": sessions_write(
        recipe_sessions(f"{name}{count}", [factor * (1 + 0.01 * at) for at in range(count)]),
        folder, count) for name, factor in (("old", 1.0), ("new", 1.2)) for count in (1, 3, 4, 6)}


ONE_ROW, TIME_GATE = ("place=apart", "write=cork"), "time_per_message > +3%"


@pytest.mark.parametrize("base, new, words, gate, status, more", [
    ("old1", "new3", ONE_ROW, TIME_GATE, 3, {"old1": "3 times", "new3": "1 time"}),
    ("old4", "new4", ONE_ROW, TIME_GATE, 5, {}),
    ("old4", "new4", (), TIME_GATE, 3, {"old4": "1 time"}),  # six rows
    ("old6", "new6", (), TIME_GATE, 5, {}),
    ("old1", "new1", ("write=cork",), "segments_per_message > 1", 0, {}),  # exact counts
])
def test_two_results_need_sessions_by_their_rows_and_the_missing_commands_are_printed(
    results, base, new, words, gate, status, more,
):
    text = gated(results[base], results[new], *words, "--fail-if", gate, status=status)
    for name, times in more.items():
        assert f"uncork run --more {results[name]}   # {times}\n" in text


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The results with known truth, by name."""
    folder = tmp_path_factory.mktemp("truth")
    return {name: [matrix_of(truth_write(f"{name.replace(' ', '-')}-{one.seed}", one, folder))
                   for one in filter(None, (truth, truth.other))]
            for name, (truth, _) in RESULTS.items() if name in KINDS}


KINDS = ("noise", "a tenth", "a baseline that differs", "two modes", "censored quantiles",
         "5 rounds", "exact counts", "opposite sides of the baseline", "6 rounds of 15 rows",
         "two machines", "two builds of 4 sessions")


def test_a_regression_is_a_change_to_all_other_readers(made):
    found = set()
    for name in KINDS:
        for metric in RESULTS[name][0].metrics:
            comparisons = comparisons_of(made[name], metric)
            for way in "<>":
                gate = gate_parse(f"{metric} {way} 0%")
                for row in gates_decide(comparisons, [gate]).rows:
                    change = row.row.changes.get(metric)
                    if row.verdict == REGRESSION:
                        assert change.verdict in (Verdict.CHANGED, Verdict.EXACT), (name, row)
                        assert (change.ratio.value > 1) == gate.above, (name, row)
                    found.add((row.verdict, change.verdict if change else None))
                    assert row.verdict == UNDECIDED or change.verdict.claims, row
    assert {(REGRESSION, Verdict.CHANGED), (UNDECIDED, Verdict.UNDECIDED),
            (UNDECIDED, Verdict.WITHHELD), (UNDECIDED, Verdict.UNKNOWN)
            } <= found


def identical_fail(noise, gates, rounds, seed):
    """How many of so many gates `> 0%` of ten identical rows end with status 5, by their own
    intervals alone."""
    matrix = matrix_identical(noise, ROWS * gates, 2, rounds, seed)
    pairs = list(zip(*[iter(matrix.cells.values())] * 2, strict=True))
    side, gate = Side("", matrix, {}), gate_parse(f"{METRIC} > 0%")
    return sum(gates_decide([Comparison(
        side, side, matrix.axes, (TIME,),
        tuple(Row(pair[1].axes, *pair, {
            METRIC: change_make([(matrix, cell) for cell in pair], TIME, Judged(
                contrast_of(matrix, *pair, METRIC), Family({})))})
            for pair in pairs[first:first + ROWS]), Unit.ROUND, {}, (), ())],
        [gate]).status == 5
        for first in range(0, len(pairs), ROWS))


def test_of_gates_of_identical_rows_no_more_fail_than_they_may():
    failed = {noise.__name__: identical_fail(noise, GATES_FEW, 12, seed=19) for noise in NOISES}
    assert sum(failed.values()) <= FALSE_MOST * GATES_FEW * len(NOISES), failed


@pytest.mark.long
@pytest.mark.parametrize("rounds", [9, 15])
@pytest.mark.parametrize("noise", NOISES, ids=lambda noise: noise.__name__)
def test_of_a_thousand_gates_of_each_noise_at_most_65_fail(noise, rounds):
    assert identical_fail(noise, GATES_AA, rounds, seed=20) <= FALSE_MOST * GATES_AA


def planned_found(noise, results, seed):
    """Of results of the rounds that a gate plans from a first one, how many find a true +10 % in
    one of ten rows; and of how many: the others would need more rounds than are advised."""
    gate, outcomes = [gate_parse(f"{METRIC} > 0%")], []
    for number in range(results):
        pilot = compare_baseline(matrix_identical(noise, 1, ROWS + 1, PILOT, seed + number), [TIME])
        rounds = max((row.planned for row in gates_decide(pilot, gate).rows if row.planned),
                     default=math.inf)
        if math.isfinite(rounds):
            made = matrix_identical(noise, 1, ROWS + 1, int(rounds), ~(seed + number) & 0xffff, 1.1)
            outcomes.append(gates_decide(compare_baseline(made, [TIME]), gate).rows[0].verdict
                            == REGRESSION)
    return sum(outcomes), len(outcomes)


PLANNED = [noise for noise in NOISES if noise.__name__ not in ("lognormal", "exponential",
                                                               "two_modes")]


@pytest.mark.parametrize("results, seed", [
    (10, 21), pytest.param(200, 500, marks=pytest.mark.long)])
@pytest.mark.parametrize("noise", PLANNED, ids=lambda noise: noise.__name__)
def test_a_true_tenth_is_found_in_nine_of_ten_results_of_the_rounds_that_the_plan_asks_for(
        noise, results, seed):
    found, known = planned_found(noise, results, seed)
    assert known >= 0.9 * results and found >= 0.9 * known, (found, known)


def test_noise_that_no_number_of_rounds_overcomes_is_told(tmp_path):
    folder = truth_write("loud", Truth(noise=1.5), tmp_path)
    text = gated(folder, *PAIR, "--fail-if", "time_per_message > +3%", status=3)
    assert "more than 1000 rounds" in text


def test_n_says_how_many_rounds_gates_need():
    text = uncork("run", "nodelay", "-n", "--fail-if", "time_per_message > +3%").stdout
    assert "# gate: 9 rounds are the fewest that decide 10 rows\n" in text
    assert "# gate: a row 10% beyond its limit is found in 9 of 10 results of " in text
    counts = uncork("run", "nodelay", "-n", "--fail-if", "segments_per_message > 1").stdout
    assert "# gate: counts that are the same in every run are decided by 2 rounds\n" in counts
    assert "unknown metric" in uncork("run", "nodelay", "-n", "--fail-if", "x > 1").stderr


def test_the_interval_of_a_gate_holds_that_of_the_comparison():
    (one,) = (one for one in compare_baseline(matrix_of(NODELAY), [TIME])
              if one.new.name == "write=cork")
    for row in gates_decide([one], [gate_parse(f"{METRIC} > 3%")]).rows:
        usual = row.row.changes[METRIC].ratio
        assert row.figure.value == usual.value
        assert row.figure.interval.low <= usual.interval.low
        assert row.figure.interval.high >= usual.interval.high
    alone = replace(one, rows=one.rows[:1])
    (row,) = gates_decide([alone], [gate_parse(f"{METRIC} > 3%")]).rows
    assert row.figure == one.rows[0].changes[METRIC].contrast.estimate()
