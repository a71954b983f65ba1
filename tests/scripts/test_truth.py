# SPDX-License-Identifier: MIT
"""Results with known truth: every command and picture says the same of every row, and none says
what is false."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from answers import matrix_of
from drawn_readers import bars_read, curve_read, forest_read, tiles_read
from readers import (
    CLEAR,
    FEW,
    KINDS,
    NOT_CLEAR,
    OPEN,
    WITHHELD,
    answers_read,
    claims_read,
    compare_csv,
    compare_json,
    compare_one,
    compare_read,
    comparisons_of,
    gain_json,
    marks_read,
    means_read,
    page_read,
    paste_read,
    scenario_with,
    selector,
    show_read,
    table_csv,
    table_json,
    table_read,
    way_of,
    whole_place,
)
from suite import stats
from suite.contrast.contrast import Verdict
from suite.decide.claims import claims_decide
from suite.decide.comparison.build import compare_pair
from suite.decide.optimum import BEST, WORSE, optima_build
from suite.decide.optimum import UNKNOWN as FEW_ROUNDS
from suite.decide.summary import summary_build
from suite.observe.metrics import METRICS
from suite.scenario.scenario import Claim
from truth import SIZES, Truth, ratio_true, truth_write

CHANGED, UNKNOWN, EXACT = Verdict.CHANGED, Verdict.UNKNOWN, Verdict.EXACT
ALWAYS = range(30)  # rounds in which a cell fails
ONE_CHANGED = {"message=256 write=cork": 0.8}
SESSIONS, LATER = (1.0, 1.02, 0.99, 1.01), {"kernel": "6.19.0"}
HALF = {"write=cork": 0.5}
BOTH = ("time_per_message", "messages_per_second")  # of which less is better, and more

# The results by name, and the verdicts that rows (named by words) must have. All seeds were chosen
# before anything was looked at.
RESULTS: dict[str, tuple[Truth, dict[str, Verdict]]] = {
    "noise": (Truth(metrics=BOTH), {}),
    "heavy noise": (Truth(noise=0.5), {}),
    "drift": (Truth(drift=0.03), {}),
    "drift and a change": (Truth({"write=cork": 0.9}, drift=0.03), {"write=cork": CHANGED}),
    "a tenth": (Truth({"write=cork": 0.9, "write=more": 1.1}, metrics=BOTH),
                {"write=cork": CHANGED, "write=more": CHANGED}),
    "a baseline that differs": (Truth({"write=cork": 0.5, "write=more": 2.0}, again=1.1,
                                      metrics=BOTH),
                                dict.fromkeys(("write=cork", "write=more"), Verdict.WITHHELD)),
    "two modes": (Truth({"write=cork": 0.5, "write=more": 0.85}, rounds=20,
                        slow={"write=cork": (2, 7, 11, 16, 19)}, metrics=BOTH),
                  {"write=cork": Verdict.WITHHELD, "write=more": CHANGED}),
    "failures": (Truth({"write=cork": 0.8}, fails={"write=cork": (2, 5), "write=more": (3,)}),
                 {"write=cork": CHANGED}),
    "a cell that failed": (Truth({"write=cork": 0.8}, fails={"write=more": ALWAYS}),
                           {"write=cork": CHANGED}),
    "a baseline that failed": (
        Truth({"write=cork": 0.8}, fails={"write=nodelay place=apart": ALWAYS}),
        {"write=cork": CHANGED}),
    "censored quantiles": (
        Truth({"write=cork": 3.0}, late=("write=cork",), metrics=("latency_p99",)),
        {"write=cork": CHANGED}),
    "5 rounds with bounds": (
        Truth({"write=cork": 0.1}, late=("write=nodelay",), rounds=5, metrics=("latency_p99",)),
        {"write=cork": UNKNOWN}),
    "places on opposite sides": (
        Truth({"write=cork place=together": 0.7, "write=cork place=apart": 1.4}),
        {"write=cork": CHANGED}),
    "one of two places": (Truth({"write=cork place=together": 0.7}),
                          {"write=cork place=together": CHANGED}),
    "exact counts": (Truth(segments={"write=cork": 14, "write=more": 1},
                           metrics=("segments_per_message",)),
                     {"write=cork": EXACT, "write=more": EXACT, "write=writev": EXACT}),
    "timers": (Truth({"write=more": 1000.0, "place=apart": 1.1}), {"write=more": CHANGED}),
    "loud neighbours": (Truth({"write=cork place=together": 0.9}, rounds=8,
                              noises={"write=more": 30, "write=writev": 30}),
                        {"write=cork place=together": CHANGED}),
    "opposite sides of the baseline": (
        Truth({"write=cork": 0.8, **{f"write={name}": 1.25 for name in SIZES["write"][2:]}},
              rounds=6, sweep=SIZES), {"write=cork": CHANGED, "write=nagle": CHANGED}),
    "5 rounds": (Truth(HALF, rounds=5, metrics=BOTH), {"write=cork": UNKNOWN}),
    "6 rounds of 15 rows": (Truth(ONE_CHANGED, rounds=6, sweep=SIZES, metrics=BOTH),
                            {"message=256 write=cork": UNKNOWN}),
    "10 rounds of 15 rows": (Truth(ONE_CHANGED, sweep=SIZES), {"message=256 write=cork": CHANGED}),
    "only a baseline run twice": (Truth(sweep={"write": ["nodelay"]}), {}),
    "three sessions": (Truth({"write=cork": 0.8}, rounds=12, sessions=(1.0, 1.3, 0.9)),
                       {"write=cork": CHANGED}),
    "two machines of one speed": (Truth(rounds=24, sessions=SESSIONS, other=Truth(
        rounds=24, sessions=SESSIONS[::-1], facts=LATER, seed=2)), {}),
    "two machines": (Truth(rounds=20, sessions=(*SESSIONS, 0.98), metrics=BOTH, other=Truth(
        HALF, rounds=20, sessions=(*SESSIONS, 1.03), facts=LATER, seed=2)),
        {"write=cork": CHANGED}),
    "two builds of 4 sessions": (Truth(rounds=24, sessions=SESSIONS, other=Truth(
        HALF, rounds=24, sessions=SESSIONS[::-1], programs={"build": "fedc"}, seed=2)),
        {"write=cork": UNKNOWN}),
    "two single sessions": (Truth(HALF, other=Truth(seed=2)), {"write=cork": UNKNOWN}),
}

READERS = {
    "table": table_read(""), "table --md": table_read("md"), "table --html": table_read("html"),
    "table --csv": table_csv("_verdict", "_ratio", 1), "table --json": table_json,
    "table gain=": table_read("", gain=""), "table gain= --md": table_read("md", gain=""),
    "table gain= --csv": table_csv("_gain_verdict", "_gain", 0, gain=""),
    "table gain= --json": gain_json,
    "table best=": table_read("", best="write"),
    "table best= --csv": table_csv("_better_verdict", "_better", 1, best="write"),
    "marks of best=": marks_read,
    "show": show_read, "check": claims_read, "answers": answers_read, "report": page_read,
    "compare": compare_read(""), "compare --md": compare_read("md"),
    "compare --html": compare_read("html"), "compare --csv": compare_csv,
    "compare --json": compare_json, "compare of one row": compare_one,
    "paste": paste_read("plain"), "paste --style md": paste_read("md"),
    "plot kind=heatmap": tiles_read, "plot kind=forest": forest_read,
    "plot kind=curve": curve_read, "plot kind=bars": bars_read("bars"),
    "plot kind=counts": bars_read("counts"),
}
# Readers that do not tell all kinds apart, and what they tell.
COARSE = {
    **dict.fromkeys(("marks of best=", "check", "plot kind=curve"), {CLEAR, NOT_CLEAR}),
    "plot kind=counts": {CLEAR},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The results by name."""
    folder = tmp_path_factory.mktemp("truth")
    return {name: [matrix_of(truth_write(f"{name.replace(' ', '-')}-{one.seed}", one, folder))
                   for one in filter(None, (truth, truth.other))]
            for name, (truth, _) in RESULTS.items()}


@pytest.fixture(scope="module")
def rows(made):
    """By result and metric, each row with its verdict, its ratio and its cells, by its place."""
    return {(name, metric): {
        whole_place(made[name][0], one, tuple(row.axes.values())):
            (row.changes[metric].verdict, row.changes[metric].ratio, row.pair)
        for one in comparisons_of(made[name], metric) for row in one.rows if metric in row.changes}
        for name, (truth, _) in RESULTS.items() for metric in truth.metrics}


@pytest.fixture(scope="module", params=[0, pytest.param(1, marks=pytest.mark.long)])
def said(made, request):
    """By result, metric and reader what is said of each row, of half of the results."""
    return {(name, metric, reader): read(made[name], metric)
            for name in [*RESULTS][request.param::2] for metric in RESULTS[name][0].metrics
            for reader, read in READERS.items()}


def agrees(told, known):
    """Whether what is said of a row is its verdict and its direction; of a row without figures on
    both sides at most that nothing can be said."""
    if known is None:
        return told.kind == NOT_CLEAR
    verdict, ratio, _ = known
    kind, way = KINDS[verdict], way_of(ratio.value if ratio else None)
    return (told.kind == kind or told.kind == NOT_CLEAR and (kind != CLEAR or not way)) and (
        told.way in (0, way) and told.verdict in (None, verdict))


def none(wrong):
    """Fails with all that is wrong, a line each."""
    assert not wrong, "\n".join(wrong)


def test_every_command_and_picture_says_the_same_of_every_row(said, rows):
    none([f"{name}, {metric}, {reader}: {place}: {told}, and it is {known}"
          for (name, metric, reader), found in said.items() for place, told in found.items()
          if not agrees(told, known := rows[name, metric].get(place))])


def rate_check(claims):
    """Fails if a claim has the wrong direction, or more than 5 % are of what is the same. claims:
    what is claimed, its direction, the true one."""
    none([text for text, way, true in claims if true and way != true])
    false = [text for text, way, true in claims if way and not true]
    assert len(false) <= stats.ALPHA * len(claims), "\n".join(false)


def test_a_change_has_its_true_direction_and_at_most_5_percent_are_of_rows_that_are_the_same(rows):
    rate_check([(f"{name}, {metric}: {place}: {ratio.value}", way_of(ratio.value),
                 way_of(ratio_true(RESULTS[name][0], pair[1].words, pair[0].words, metric)))
                for (name, metric), found in rows.items()
                for place, (verdict, ratio, pair) in found.items() if KINDS[verdict] is CLEAR])


def test_each_result_has_the_verdicts_for_which_it_was_made(rows):
    none([f"{name}, {metric}, {words}: {found}"
          for (name, metric), known in rows.items() for words, wanted in RESULTS[name][1].items()
          for found in [{verdict for verdict, _, (_, cell) in known.values()
                         if set(words.split()) <= {f"{key}={value}"
                                                   for key, value in cell.words.items()}}]
          if found != {wanted}])


def test_a_metric_and_its_reciprocal_have_the_same_verdicts(rows):
    none([f"{name}: {place}" for (name, metric), found in rows.items()
          if metric == "messages_per_second" for place, (verdict, ratio, _) in found.items()
          for other, turned, _ in [rows[name, "time_per_message"][place]]
          if other is not verdict or ratio.value * turned.value != pytest.approx(1, rel=1e-4)])


def test_every_reader_reads_every_kind_of_verdict(said):
    told = {reader: {one.kind for (_, _, other), found in said.items() if other == reader
                     for one in found.values()} for reader in READERS}
    none([f"{reader}: {kinds}" for reader, kinds in told.items()
          if kinds != COARSE.get(reader, {CLEAR, OPEN, FEW, WITHHELD})])


def test_a_baseline_gains_over_itself_where_its_two_runs_differ(made):
    gains = [(truth.again, gain) for name, (truth, _) in RESULTS.items() for metric in truth.metrics
             for matrix in made[name]
             for cell, gain in summary_build(matrix, (metric,), gain=metric).gains.items()
             if matrix.cells[cell].baseline]
    assert all(gain.judged.verdict is CHANGED for again, gain in gains if again != 1)
    false = [gain for again, gain in gains if again == 1 and gain.judged.verdict is CHANGED]
    assert len(false) <= stats.ALPHA * len(gains), false


def test_a_value_that_is_called_worse_than_the_best_is_and_at_most_5_percent_are_not(made):
    rate_check([(f"{name}, {metric}: {value} against {optimum.best}",
                 1 if METRICS[metric].better == "lower" else -1, way_of(ratio_true(
                     replace(truth, other=None), {**optimum.place, "write": value},
                     {**optimum.place, "write": optimum.best}, metric)))
                for name, (truth, _) in RESULTS.items() for metric in truth.metrics
                for optimum in optima_build(made[name][0], "write", METRICS[metric])
                for value, mark in optimum.marks.items() if mark == WORSE])


def test_a_best_value_has_too_few_rounds_where_a_comparison_of_the_two_says_so(made):
    seen = set()
    asked = [(name, metric) for name, (truth, _) in RESULTS.items() for metric in truth.metrics]
    for name, metric in asked:
        for optimum in optima_build(made[name][0], "write", METRICS[metric]):
            for value in set(optimum.marks) - {optimum.best}:
                both = compare_pair([made[name][0]], *({**optimum.place, "write": one} for one in (
                    value, optimum.best)), [METRICS[metric]])
                verdict = both.rows[0].changes[metric].verdict
                few = verdict in (UNKNOWN, Verdict.WITHHELD)
                assert (optimum.marks[value] == FEW_ROUNDS) is few, (
                    name, optimum.place, value, verdict)
                seen.add((verdict, few))
    assert {(UNKNOWN, True), (Verdict.WITHHELD, True), (Verdict.UNDECIDED, False)} <= seen


def means_of(made):
    """Every geometric mean, with its result, comparison and metric; None where there is none."""
    return [(name, one, metric, one.geomeans.get(metric)) for name, (truth, _) in RESULTS.items()
            for metric in truth.metrics for one in comparisons_of(made[name], metric)]


def test_a_geometric_mean_that_is_called_changed_is(made):
    none([f"{name}, {metric}: {mean}" for name, one, metric, mean in means_of(made)
          if mean and KINDS[mean.verdict] is CLEAR and way_of(mean.ratio.value) != way_of(
              float(np.exp(np.mean([np.log(ratio_true(
                  RESULTS[name][0], row.new.words, row.base.words, metric))
                  for place, row in enumerate(one.rows) if place not in mean.left_out]))))])


def test_every_format_says_the_same_of_a_geometric_mean(made):
    none([f"{name}, {metric}, {output}: {told}, and it is {mean}"
          for name, one, metric, mean in means_of(made)
          for output, told in means_read(made[name], one, metric).items()
          if (told is None) != (mean is None)
          or told and not agrees(told, (mean.verdict, mean.ratio, None))])


def pairs_said(matrix, metric):
    """What compare, best= and claims say of two cells neither of which is the baseline: whether
    they differ, by both cells. best= says it of the best of a group and each other only."""
    cells = [cell for cell in matrix.cells.values()
             if cell.runs_ok and cell.axes.get("write", "nodelay") != "nodelay"]
    pairs = [pair for pair in combinations(cells, 2)
             if {**pair[0].axes, "write": ""} == {**pair[1].axes, "write": ""}]
    claims = tuple(Claim("", f"{selector(metric, one)} {sign} {selector(metric, other)}")
                   for one, other in pairs for sign in "<>")
    outcomes = [verdict.outcome == "ok"
                for verdict in claims_decide(scenario_with(matrix, claims=claims))]
    optima = optima_build(matrix, "write", METRICS[metric])
    for number, (one, other) in enumerate(pairs):
        (row,) = compare_pair([matrix], one.axes, other.axes, [METRICS[metric]]).rows
        marks = [optimum.marks[cell.axes["write"]] for optimum in optima for cell in (one, other)
                 if optimum.place.items() <= cell.axes.items()]
        told = {"compare": KINDS[row.changes[metric].verdict] is CLEAR
                and row.changes[metric].ratio.value != 1,
                "check": any(outcomes[2 * number:2 * number + 2])}
        yield one, other, told | ({"best=": WORSE in marks} if BEST in marks else {})


def test_two_cells_neither_of_which_is_a_baseline_get_one_verdict(made):
    none([f"{name}: {one.axes} {other.axes}: {told}" for name, (truth, _) in RESULTS.items()
          for one, other, told in pairs_said(made[name][0], truth.metrics[0])
          if len(set(told.values())) > 1])
