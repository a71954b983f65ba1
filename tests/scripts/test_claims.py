# SPDX-License-Identifier: MIT
"""Claims: their grammar, the cells that they name, and the three outcomes."""

from __future__ import annotations

import shutil

import pytest

from answers import NODELAY, golden_check, matrix_of, refused, result_make, uncork
from suite.base.errors import UsageError
from suite.decide.claims import (
    best_decide,
    claim_decide,
    claims_status,
    figures_compare,
    outcome_of,
)
from suite.decide.expressions import Operation, Reference, best_of, claim_parse, evaluate
from suite.present.claims import outcome_texts, tap_text
from suite.scenario.scenario import Claim
from suite.stats import Interval

RATES = "Gbit/s, Mbit/s, kbit/s, bit/s"


@pytest.fixture(scope="module")
def transports(tmp_path_factory):
    """Three rounds: too few for an interval."""
    return matrix_of(result_make.result_write(result_make.recipe_transports(),
                                              tmp_path_factory.mktemp("results")))


def decide(matrix, that):
    """The verdict on one claim."""
    return claim_decide(matrix, Claim("it is so", that))


def value(text):
    """The value of an expression without metrics."""
    return evaluate(claim_parse(f"{text} < time").left, {})


@pytest.mark.parametrize("text, number", [
    ("1+2*3", 7), ("(1+2)*3", 9), ("8/4/2", 1), ("5-3-1", 1), ("-2*3", -6), ("--2", 2),
    ("2*-3", -6), ("10e-3", 0.01), (".5+1.", 1.5), ("1E3", 1000), (" 1 + 1 ", 2),
])
def test_arithmetic(text, number):
    assert value(text) == pytest.approx(number)


def test_a_metric_names_its_cell_in_parentheses():
    claim = claim_parse("2 * time( write=cork   place=0.2/1.3 ) >= user - system(message=64)")
    assert claim.left == Operation("*", 2.0, Reference("time", "write=cork place=0.2/1.3"))
    assert claim.right == Operation("-", Reference("user", ""), Reference("system", "message=64"))


@pytest.mark.parametrize(("that", "right"), [
    ("time >= 35ms", 0.035), ("time >= 35 ms", 0.035), ("time > 2us", 2e-6), ("time > 2 µs", 2e-6),
    ("time > 2 μs", 2e-6), ("time > 1 s", 1), ("time > 7ns", 7e-9), ("time > 3", 3),
    ("time > 1.5E1 MS", 0.015), ("bandwidth < 2 Gbit/s", 2e9), ("bandwidth < 3kbit/s", 3000),
    ("messages_per_second > 4 k/s", 4000), ("peer_window > 64 KiB", 65536),
    ("2 * time / 3 > 35 ms", 0.035), ("time(write=cork) - 1 ms > 2 ms", 0.002),
    ("time > -1 ms", -0.001), ("time / 2 ms > 3", 3), ("time ~ 2 ms within 1.1", 0.002),
])
def test_a_number_may_have_a_unit_of_its_metric(that, right):
    assert claim_parse(that).limit == pytest.approx(right)


@pytest.mark.parametrize(("that", "said"), [
    *((that, f", character {place}: each side has metric(WORDS) and numbers, joined by + - * /")
      for that, place in (
        ("", 1), ("time < (1", 8), ("time < 1)", 9), ("time <", 7), ("time = 1", 6),
        ("time != 1", 6), ("time(write=cork < 1", 5), ("__import__('os') < 1", 1),
        ("1 2 < time", 3), ("* 2 < time", 1), ("time ** 2 < 1", 9), ("µ < 1", 1),
        ("time | 2 ~ 3", 6), ("time # < 1", 6), ("time ~ 2 within", 16), ("time ~ 2 < 3", 8),
        ("time ~ 2 2", 10), ("time > 2 within 3", 17), ("within < time", 1),
        ("time ~ 2 ~ 3", 8))),
    *((that, f", character {place}: one comparison (>= <= > < == ~) is needed")
      for that, place in (("1 + 2", 6), ("time < 1 < 2", 9), ("time within 2", 14))),
    ("time ~ time", "character 8: a number above 0"), ("time ~ 0", "a number above 0"),
    ("time ~ 2 within 1", "a number above 1"), ("time ~ 2 within 3 ms", "above 1 without a unit"),
    ("-" * 2000 + "time < 1", "character 501: a claim has at most 500 characters"),
    ("tine < 1", "did you mean time"), ("time < 1 / 0", "a division by 0"),
    ("bandwidth >= 35 ms", f"a figure in {RATES} stands beside one in s, ms, us, ns"),
    ("35ms < 2 * bandwidth", f"a figure in s, ms, us, ns stands beside one in {RATES}"),
    ("time - 3 KiB > 0", "a figure in s, ms, us, ns stands beside one in MiB, KiB, B"),
    ("segments_per_message == 2 ms", "a figure without a unit stands beside one in s, ms, us, ns"),
    ("time / time ~ 2 us", "a figure without a unit stands beside one in s, ms, us, ns"),
    ("time / 2 ms > 3 us", "a figure without a unit stands beside one in s, ms, us, ns"),
    ("peer_window > 3 k/s", "a figure in MiB, KiB, B stands beside one in M/s, k/s, 1/s"),
    ("time > bandwidth", f"a figure in s, ms, us, ns stands beside one in {RATES}"),
    ("time > 35 parsec", '"parsec" is no unit: s, ms, us, ns; Gbit/s, Mbit/s, kbit/s, bit/s; '
                         "M/s, k/s, 1/s; MiB, KiB, B"),
])
def test_what_is_no_claim_is_one_line_with_its_place_and_what_would_be_right(that, said):
    with pytest.raises(UsageError) as refusal:
        claim_parse(that)
    assert said in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.parametrize(("result", "that", "said"), [
    ("nodelay", "time_per_message(write=cork) < 1",
     "time_per_message(write=cork): place varies and is not named; it is one of together, apart"),
    ("nodelay", "time_per_message(wirte=cork place=apart) < 1",
     "time_per_message(wirte=cork place=apart): no cell has the word wirte"),
    ("nodelay", "time_per_message(write=zerocopy place=apart) < 1",
     "write=zerocopy was not run, only write=nagle,nodelay,cork,more,writev,coalesce"),
    ("nodelay", "time(write=cork place=apart) > time(write=best)", "place varies and is not named"),
    ("nodelay", "1 / (segments_per_message(write=cork place=apart) - 1) > 1", "division by 0"),
    ("transports", "time_per_message(transport=unix write=cork) < 1", "hold nothing back"),
    ("transports", "time_per_message(transport=unix write=coalesce) < 1", "killed by signal"),
    ("transports", "time_per_message(transport=tcp write=cork) < 1", "an interval needs 6"),
    ("transports", "segments_per_message(transport=unix write=nodelay) == 1", "is not known here"),
    ("transports", "time_per_message(transport=unix write=nodelay) <= "
                   "time_per_message(transport=unix write=best)", "hold nothing back"),
])
def test_a_claim_that_this_result_cannot_decide_is_undecided_and_says_why(
        request, result, that, said):
    verdict = decide(request.getfixturevalue(result), that)
    assert verdict.outcome == "undecided" and said in "; ".join(outcome_texts(verdict))


@pytest.mark.parametrize("that, outcome", [
    ("segments_per_message(write=cork place=apart) == 1", "ok"),
    ("time_per_message(message=15x2 write=cork place=apart) < 1", "ok"),  # a fixed word
    ("segments_per_message(write=nodelay place=apart) == 15", "ok"),
    ("segments_per_message(write=nodelay place=apart) < 15", "not ok"),
    ("sends_per_message(write=cork place=apart) - 2 == sends_per_message(write=more place=apart)",
     "ok"),
    ("segments_per_message(write=cork place=apart) / 3 * 3 == 1", "ok"),
    ("segments_per_message(write=nagle place=apart) < 3", "ok"),
    ("segments_per_message(write=nagle place=apart) == 2.05", "undecided"),
    ("segments_per_message(write=nagle place=apart) == 15", "not ok"),
    ("time_per_message(write=cork place=together) < 20e-6", "ok"),
    ("time_per_message(write=cork place=together) > 20e-6", "not ok"),
    ("time_per_message(write=cork place=together) - time_per_message(write=more place=together)"
     " > -1", "ok"),
    ("1 / time_per_message(write=cork place=together) > 1000", "ok"),
    ("time_per_message(write=nodelay place=together) / BASE ~ 5 within 4", "ok"),
    ("time_per_message(write=nodelay place=together) / BASE ~ 900", "not ok"),
    ("time_per_message(write=nodelay place=together) / BASE ~ 1.03", "undecided"),
])
def test_outcomes(nodelay, that, outcome):
    that = that.replace("BASE", "time_per_message(write=cork place=together)")
    assert decide(nodelay, that).outcome == outcome


@pytest.mark.parametrize("that, outcome, against", [
    ("time_per_message(write=coalesce place=together) <= 1.1 * BEST", "ok", "coalesce"),
    ("time_per_message(write=cork place=together) > 1.05 * BEST", "ok", "coalesce"),
    ("time_per_message(write=cork place=together) <= 1.05 * BEST", "not ok", "coalesce"),
    ("time_per_message(write=coalesce place=together) > 1.05 * BEST", "not ok", "coalesce"),
    ("messages_per_second(write=nodelay place=apart) >= RATE", "not ok", "coalesce"),
    ("messages_per_second(write=nodelay place=apart) < RATE", "ok", "coalesce"),
])
def test_a_claim_against_the_best_of_several_cells(nodelay, that, outcome, against):
    verdict = decide(nodelay, that.replace("BEST", "time_per_message(write=best place=together)")
                     .replace("RATE", "messages_per_second(write=best place=apart)"))
    assert verdict.outcome == outcome, verdict.reasons
    assert verdict.reasons[-1].startswith("against ") and f"write={against}" in verdict.reasons[-1]


@pytest.mark.parametrize("sign, outcomes, decided", [
    (">=", ["ok", "ok"], ("ok", 0)), (">=", ["ok", "undecided"], ("undecided", 1)),
    (">=", ["not ok", "ok"], ("not ok", 0)), (">=", ["undecided", "not ok"], ("undecided", 0)),
    (">=", ["ok", "not ok"], ("undecided", 1)), ("<", ["not ok", "not ok"], ("not ok", 0)),
    ("<", ["ok", "not ok"], ("ok", 0)), ("<", ["not ok", "undecided"], ("undecided", 1)),
    ("<", ["undecided", "ok"], ("undecided", 0)),
])
def test_to_reach_the_best_is_to_reach_every_one_and_to_stay_behind_it_the_best_median(
        sign, outcomes, decided):
    comparison = claim_parse(f"bandwidth(write=cork) {sign} 0.95 * bandwidth(write=best)")
    assert best_decide(comparison, best_of(comparison), outcomes) == decided
    lower = {">=": "<=", "<": ">"}[sign]
    comparison = claim_parse(f"cpu_per_byte(write=cork) {lower} 1.05 * cpu_per_byte(write=best)")
    assert best_decide(comparison, best_of(comparison), outcomes) == decided


@pytest.mark.parametrize("that", [
    "time(write=best) < 1", "time == time(write=best)", "time < 1 / time(write=best)",
    "time < time(write=best) + time(write=cork)", "time < time(write=best) * 2",
    "time(write=best) < time(write=best)",
])
def test_the_best_stands_alone_on_the_right(nodelay, that):
    with pytest.raises(UsageError, match="the best stands alone on the right"):
        decide(nodelay, that)


@pytest.mark.parametrize("sign, outcomes", [
    (">=", ["ok", "ok", "undecided", "undecided", "not ok"]),
    (">", ["ok", "undecided", "undecided", "not ok", "not ok"]),
    ("<=", ["not ok", "undecided", "undecided", "ok", "ok"]),
    ("<", ["not ok", "not ok", "undecided", "undecided", "ok"]),
    ("==", ["not ok", "undecided", "undecided", "undecided", "not ok"]),
])
def test_the_interval_decides_and_may_touch_equality(sign, outcomes):
    intervals = [(1.1, 1.2), (1.0, 1.1), (0.9, 1.1), (0.9, 1.0), (0.8, 0.9)]
    assert [outcome_of(sign, Interval(*ends, 0.95), 1) for ends in intervals] == outcomes


def test_exact_counts_forgive_the_rounding_of_arithmetic_only():
    def holds(sign, left, right):
        return figures_compare(claim_parse(f"time {sign} time"), left, right)
    assert holds("==", 0.1 + 0.2, 0.3) and holds(">=", 0.3, 0.1 + 0.2)
    assert not holds("<", 0.3, 0.1 + 0.2) and holds("<", 0.29, 0.3)


def test_check_prints_tap_and_its_status(nodelay):
    done = uncork("check", NODELAY)
    golden_check("check.tap", done.stdout)
    assert done.returncode == 1


@pytest.mark.parametrize("thats, status", [
    (["time(write=cork place=apart) > 0"], 0),
    (["time(write=cork place=apart) > 0", "time(write=zerocopy place=apart) > 0"], 3),
    (["time(write=zerocopy place=apart) > 0", "time(write=cork place=apart) < 0"], 1),
    ([], 0),
])
def test_the_exit_status_sums_up(nodelay, thats, status):
    verdicts = [decide(nodelay, that) for that in thats]
    assert claims_status(verdicts) == status
    assert tap_text(verdicts).startswith(f"1..{len(thats)}")


def test_a_hash_in_a_sentence_does_not_become_a_directive(nodelay):
    verdict = claim_decide(nodelay, Claim("# TODO no", "time(write=cork place=apart) > 0"))
    assert "ok 1 - \\# TODO no\n" in tap_text([verdict])


def test_a_claim_that_names_no_metric_is_refused(nodelay):
    with pytest.raises(UsageError, match="it names no metric"):
        decide(nodelay, "1 < 2")


def test_a_claim_that_cannot_be_read_is_one_line_and_status_2(tmp_path):
    folder = shutil.copytree(NODELAY, tmp_path / "result")
    with (folder / "scenario.toml").open("a") as file:
        file.write('\n[[claim]]\nsays = "x"\nthat = "time_per_message >"\n')
    assert "character 19: each side has metric(WORDS)" in refused("check", folder)
