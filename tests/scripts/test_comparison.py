# SPDX-License-Identifier: MIT
"""What a comparison is built from: sides, rows, units of chance, verdicts, differences of
machines."""

from __future__ import annotations

import numpy as np
import pytest
from sessions_make import recipe_sessions, sessions_write

from answers import matrix_of
from suite import stats
from suite.base.errors import UsageError
from suite.contrast.contrast import Contrast, Status, Verdict
from suite.contrast.verdicts import Family, Judged
from suite.decide.comparison.build import compare_baseline, compare_pair
from suite.observe.frame import Series
from suite.observe.machines import TIMES_INVALID
from suite.observe.metrics import METRICS

TIME, SEGMENTS = METRICS["time_per_message"], METRICS["segments_per_message"]
OLD, NEW = (1, 1.02, 1.01, 0.99), (0.93, 0.92, 0.94, 0.91)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Results by name: old and new have four sessions, once has one, wide has a third placement and
    no cork."""
    folder = tmp_path_factory.mktemp("results")
    wide = {"place": ["apart", "free"], "write": ["nodelay", "writev"]}
    return {path.name: matrix_of(path) for path in (
        sessions_write(recipe_sessions("old", OLD), folder, 4),
        sessions_write(recipe_sessions("new", NEW), folder, 4,
                       {"kernel": "6.19.0", "cpus_online": 4}, build="fff"),
        sessions_write(recipe_sessions("once", NEW[:1]), folder, 1),
        sessions_write(recipe_sessions("wide", NEW[:1], sweep=wide), folder, 1),
        sessions_write(recipe_sessions("slow", OLD[:1]), folder, 1, {"virtualisation": "tcg"}))}


def test_exact_counts_have_no_interval_on_either_side_nor_as_ratio(nodelay, made):
    across = compare_pair([made["old"], made["new"]], {}, {}, [SEGMENTS])
    within = compare_pair([nodelay], {"write": "nodelay"}, {"write": "cork"}, [SEGMENTS])
    changes = [row.changes[SEGMENTS.name] for one in (across, within) for row in one.rows]
    assert any(change.base.exact and len(across.base.sessions) == 4 for change in changes)
    for change in changes:
        for figure in (change.base, change.new):
            assert (figure.interval is None) == figure.exact
        assert (change.ratio.interval is None) == (change.base.exact and change.new.exact)


def test_what_else_varies_becomes_rows_and_rounds_are_paired(nodelay):
    comparison = compare_pair([nodelay], {"write": "nodelay"}, {"write": "cork"}, [TIME, SEGMENTS])
    assert comparison.paired and comparison.axes == ("place",)
    assert [row.axes for row in comparison.rows] == [{"place": "together"}, {"place": "apart"}]
    change, family = comparison.rows[0].changes[TIME.name], comparison.families[TIME.name]
    values = [nodelay.series(cell.name, "time_per_message").values
              for cell in (comparison.rows[0].new, comparison.rows[0].base)]
    assert change.ratio == stats.ratio_estimate(*values, True, family.alpha)
    assert change.ratio.value == pytest.approx(change.new.median / change.base.median)
    assert change.verdict is Verdict.CHANGED and family.tested == 10
    assert comparison.same_widest("time_per_message") == pytest.approx(1.0137, abs=1e-4)


def test_a_ratio_is_new_over_base_whichever_way_is_better(nodelay):
    forth = compare_pair([nodelay], {"write": "nodelay"}, {"write": "cork"},
                         [TIME]).rows[0].changes[TIME.name]
    back = compare_pair([nodelay], {"write": "cork"}, {"write": "nodelay"},
                        [TIME]).rows[0].changes[TIME.name]
    assert forth.ratio.value == pytest.approx(forth.new.median / forth.base.median)
    assert forth.ratio.value * back.ratio.value == pytest.approx(1)


def test_counts_that_are_the_same_in_every_round_need_no_interval(nodelay):
    row = compare_pair([nodelay], {"write": "nodelay"}, {"write": "cork"}, [SEGMENTS]).rows[0]
    change = row.changes["segments_per_message"]
    assert change.verdict is Verdict.EXACT and change.ratio == stats.Estimate(
        1 / 15, None, change.ratio.pairs) and change.ratio.p is None


def test_a_word_that_both_selectors_have_selects_rows(nodelay):
    comparison = compare_pair([nodelay], {"write": "nodelay", "place": "apart"},
                              {"write": "cork", "place": "apart"},
                               [TIME])
    assert comparison.axes == () and len(comparison.rows) == 1
    assert (comparison.base.name, comparison.new.name) == ("write=nodelay", "write=cork")


def test_a_word_of_one_selector_leaves_rows_without_a_partner_and_says_so(nodelay):
    comparison = compare_pair([nodelay], {"write": "nodelay"}, {"write": "cork", "place": "apart"},
                              [TIME])
    assert [row.new is None for row in comparison.rows] == [True, False]
    assert comparison.rows[0].changes == {}
    assert comparison.notes == ("1 of 2 rows have a cell on one side only",)


@pytest.mark.parametrize("base, new, says", [
    ("write=nodelay", "write=nodelay", "differ in no word"),
    ("write=nodelay", "place=apart", "differ in no word"),
    ("write=nodelay", "write=corc", "no cell of nodelay has write=corc: did you mean cork?"),
    ("write=nodelay", "wrote=cork", "no word wrote in nodelay: did you mean write?"),
    ("write=nodelay", "write=cork,more",
     "write=cork,more: each side must have one value of write"),
    ("write=nodelay place=apart", "write=cork place=nowhere",
     "no cell of nodelay has place=nowhere"),
])
def test_selectors_that_say_nothing_are_refused(nodelay, base, new, says):
    words = [dict(word.split("=") for word in text.split()) for text in (base, new)]
    with pytest.raises(UsageError, match=says.replace("?", "[?]")):
        compare_pair([nodelay], *words, [TIME])


def test_the_baseline_is_compared_with_each_other_value_of_its_axis(nodelay):
    comparisons = compare_baseline(nodelay, [TIME])
    assert [one.new.name for one in comparisons] == [
        "write=nagle", "write=cork", "write=more", "write=writev", "write=coalesce"]
    assert {one.base.name for one in comparisons} == {"write=nodelay"}


def test_between_two_results_a_session_is_the_unit(made):
    comparison = compare_pair([made["old"], made["new"]], {}, {}, [TIME])
    change = comparison.rows[0].changes["time_per_message"]
    assert not comparison.paired and comparison.axes == ("place", "write")
    assert change.base.rounds == change.new.rounds == change.ratio.pairs == 4
    assert change.verdict is Verdict.CHANGED and change.ratio.interval.contains(0.92)
    medians = [[made[name].series(row.name, TIME.name).by_round.loc[first:first + 5].median()
                for first in (1, 7, 13, 19)]
               for name, row in (("new", comparison.rows[0].new), ("old", comparison.rows[0].base))]
    assert change.ratio == stats.ratio_estimate(*medians, False, change.judged.family.alpha)
    assert comparison.geomeans["time_per_message"].ratio.value == pytest.approx(0.92, abs=0.01)
    assert comparison.notes == ()


def test_with_fewer_than_four_sessions_a_side_nothing_is_said_of_a_difference(made):
    comparison = compare_pair([made["old"], made["once"]], {}, {}, [TIME, SEGMENTS])
    change = comparison.rows[0].changes["time_per_message"]
    assert change.verdict is Verdict.UNKNOWN
    assert change.ratio.interval is None
    assert change.ratio.value < 0.95
    assert ("variation between sessions is unknown: 4 of the base and 1 of the new"
            in comparison.notes[0])
    assert comparison.rows[0].changes["segments_per_message"].verdict is Verdict.EXACT


def test_machines_that_differ_are_told_and_what_was_declared_is_marked(made):
    comparison = compare_pair([made["old"], made["new"]], {}, {}, [TIME], ["kernel"])
    found = {(one.kind, one.name): one for one in comparison.differences}
    kernel, cpus = found["kernel", "kernel"], found["cpu", "cpus_online"]
    assert (kernel.base, kernel.new, kernel.declared) == ("6.18.0-test", "6.19.0", True)
    assert (cpus.base, cpus.new, cpus.declared, cpus.refuses) == ("2", "4", False, True)
    assert {("binaries", "build"), ("boot", "boot")} < found.keys() and len(found) == 4
    assert (comparison.base.name, comparison.new.name) == ("6.18.0-test", "6.19.0")


def test_words_that_differ_between_results_and_are_no_rows_are_told(made):
    comparison = compare_pair([made["old"], made["new"]], {"write": "nodelay"}, {"write": "cork"},
                              [TIME])
    told = {one.name: one for one in comparison.differences if one.kind == "words"}
    assert told["write"].declared and (told["write"].base, told["write"].new) == ("nodelay", "cork")
    assert comparison.new.name == "6.19.0 write=cork"


def test_cells_of_one_result_only_stand_in_rows_of_their_own(made):
    comparison = compare_pair([made["old"], made["wide"]], {}, {}, [TIME])
    rows = [(*row.axes.values(), row.base is not None, row.new is not None)
            for row in comparison.rows]
    assert ("apart", "nodelay", True, True) in rows and ("apart", "cork", True, False) in rows
    assert rows[-1] == ("free", "writev", False, True) and len(rows) == 8


def test_an_axis_with_one_value_that_the_other_side_lacks_is_told_and_not_merged(made):
    comparison = compare_pair([made["old"], made["wide"]], {}, {"place": "free"}, [TIME])
    assert [tuple(row.axes.values()) for row in comparison.rows if row.base and row.new] == [
        ("together", "nodelay"), ("together", "writev"), ("apart", "nodelay"), ("apart", "writev")]
    told = next(one for one in comparison.differences if one.name == "place")
    assert (told.base, told.new, told.declared) == ("together,apart", "free", False)


def test_of_an_emulated_machine_only_counts_are_compared(made):
    comparison = compare_pair([made["once"], made["slow"]], {}, {}, [TIME, SEGMENTS])
    assert comparison.metrics == (SEGMENTS,) and comparison.notes[0] == TIMES_INVALID
    with pytest.raises(UsageError, match=TIMES_INVALID):
        compare_pair([made["slow"]], {"write": "nodelay"}, {"write": "cork"}, [TIME])


def family_of(*factors: float, rounds: int = 10) -> Family:
    """The family of rows that became slower by these factors, with 2 % of noise, the same in each,
    of rounds that do not depend on each other."""
    base, noise = np.ones(rounds), np.linspace(0, 0.02, rounds + 1)[1:] * np.resize([1, -1], rounds)
    series = [Series(np.arange(rounds), values, values) for values in (
        base, *(np.exp(noise) * factor for factor in factors))]
    return Family({place: Contrast(series[0], new, Status.OK, ratio=stats.ratio_make(
        new.values, base, True)) for place, new in enumerate(series[1:])})


def test_the_interval_of_a_row_among_many_is_wider_and_decides():
    alone, many = (Judged(family.members[0], family) for family in (
        family_of(1.015), family_of(1.015, *[1.0] * 9)))
    assert alone.verdict is Verdict.CHANGED and many.verdict is Verdict.UNDECIDED
    assert not alone.estimate.interval.contains(1) and many.estimate.interval.contains(1)
    assert many.family.alpha == pytest.approx(stats.ALPHA / 10)
    assert alone.detectable is None and many.detectable > 0.015


def test_a_family_in_which_more_rows_change_has_narrower_intervals():
    few, many = family_of(1.1, *[1.0] * 9), family_of(*[1.1] * 8, 1.0, 1.0)
    assert (few.alpha, many.alpha) == (pytest.approx(0.005), pytest.approx(0.04))


def test_where_no_p_could_survive_that_is_known():
    def is_hopeless(*factors: float, rounds: int) -> bool:
        return family_of(*factors, rounds=rounds).hopeless
    assert is_hopeless(1.1, *[1.0] * 4, rounds=6) and not is_hopeless(*[1.1] * 4, 1.0, rounds=6)
    assert is_hopeless(1.0, 1.0, rounds=6) and not is_hopeless(1.0, rounds=6)
    assert not is_hopeless(1.1, *[1.0] * 9, rounds=10)
