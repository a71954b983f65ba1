# SPDX-License-Identifier: MIT
"""Gains round by round: of a cell over its baseline, and of the baseline over itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from answers import matrix_of, result_make
from rendered import table_text
from suite.base.errors import UsageError
from suite.base.words import words_split
from suite.commands.results import table_asked
from suite.decide.summary import gain_build, summary_build
from suite.observe.metrics import METRICS
from suite.observe.selection import layout_choose
from suite.scenario.scenario import TableLayout

RATE = METRICS["messages_per_second"]


def gain_of(matrix, metric, **words):
    """The gain of the one cell with these words."""
    (cell,) = [cell for cell in matrix.cells.values() if words.items() <= cell.words.items()]
    return gain_build(matrix, cell, metric)


def text_of(matrix, width=140, columns=()):
    """The table of gains."""
    asked = TableLayout((), columns, RATE.name)
    layout = layout_choose(matrix, asked)
    return table_text(summary_build(matrix, layout.metrics, asked.gain), layout, width)


def test_a_gain_is_post_over_pre_within_each_round(replies):
    gain = gain_of(replies, RATE, transport="tcp", security="gnutls", reply_write="cork")
    fixed = next(iter(replies.cells)).partition(" transport")[0]
    pre, post = (replies.series(f"{fixed} transport=tcp security=gnutls reply_write={write}",
                                RATE.name).values for write in ("nodelay", "cork"))
    gains = sorted(b / a - 1 for a, b in zip(pre, post, strict=True))
    assert (gain.worst, gain.best) == pytest.approx((gains[0], gains[-1]))
    assert gains[0] < gain.ratio.interval.low - 1 < gain.ratio.value - 1 < gains[-1]
    assert (gain.pre, gain.post) == pytest.approx((np.median(pre), np.median(post)))
    assert gain.ratio.pairs == 7


def test_the_baseline_gains_nothing_over_itself_run_by_run(replies):
    gain = gain_of(replies, RATE, transport="unix", security="plain", reply_write="nodelay")
    frame = replies.frame
    runs = frame[frame["cell"].str.endswith("transport=unix security=plain reply_write=nodelay")
                 & (frame["round"] > 0)]
    first, second = (runs[runs["label"] == label].sort_values("round")[RATE.name].to_numpy()
                     for label in ("A", "A'"))
    assert gain.worst == pytest.approx(min(second / first - 1))
    assert gain.ratio.interval.contains(1.0)
    assert [quote.ratio for quote in gain.published] == pytest.approx([812175.4 / 809534.6])


def test_where_less_is_better_the_worst_round_is_the_one_with_the_most(replies):
    gain = gain_of(replies, METRICS["time_per_message"], transport="tcp",
                   security="plain", reply_write="coalesce")
    assert gain.best < gain.ratio.value - 1 < gain.worst < 0


def test_published_figures_are_compared_within_their_set(replies):
    scenario = replies.result.scenario
    strange = replace(scenario.published[-1], set="another")
    mixed = replace(replies, result=replace(replies.result, scenario=replace(
        scenario, published=(*scenario.published, strange))))
    gain = gain_of(mixed, RATE, transport="tcp", security="gnutls", reply_write="cork")
    assert [(quote.figure.set, quote.ratio) for quote in gain.published] == [
        ("single", pytest.approx(11762.0 / 11058.5)), ("another", None)]


def test_a_cell_without_a_good_run_has_no_gain(replies):
    assert gain_of(replies, RATE, transport="unix", security="plain",
                   reply_write="cork") is None


def test_few_rounds_have_a_gain_without_an_interval(tmp_path):
    text = text_of(matrix_of(result_make.result_write(
        result_make.recipe_replies(rounds=2), tmp_path)))
    line = next(line for line in text.splitlines() if line.startswith("tcp        plain     cork"))
    assert "%?" in line and "[" not in line
    assert "?          fewer than 6 shared rounds, or too few for so many rows: no verdict" in text


def test_a_result_without_a_baseline_says_that_it_has_no_gain(replies):
    plan = replace(replies.result.plan, baseline="", cells=tuple(
        replace(cell, baseline=False) for cell in replies.result.plan.cells))
    matrix = replace(replies, result=replace(replies.result, plan=plan),
                     cells={name: replace(cell, baseline=False)
                            for name, cell in replies.cells.items()})
    text = text_of(matrix)
    assert "no gain of messages_per_second: no cell shares a good round with a baseline" in text
    assert " pre " not in text and "+/-" in text


def test_the_metric_of_gains_is_a_column_even_if_nobody_named_it(replies):
    asked = TableLayout((), ("sends_per_reply",), RATE.name)
    assert layout_choose(replies, asked).metrics == (RATE.name, "sends_per_reply")
    asked = TableLayout((), ("sends_per_reply", RATE.name), RATE.name)
    assert layout_choose(replies, asked).metrics == ("sends_per_reply", RATE.name)


def test_baselines_over_the_columns_are_named_as_twice_run(replies):
    text = text_of(replies, 200, ("reply_write",))
    assert "nodelay (A/A) messages per second" in text and "tcp (A/A)" not in text


def test_the_shell_chooses_of_which_metric_gains_are_shown_or_of_none(replies):
    table = replies.result.scenario.table
    for words in ([], ["rows=security"]):
        assert table_asked(words_split(words), table).gain == RATE.name
    assert table_asked(words_split(["gain=time_per_message"]),
                       TableLayout()) == TableLayout(gain="time_per_message")
    assert table_asked(words_split(["gain=off"]), table) == replace(table, gain=None)
    with pytest.raises(UsageError, match="gain: .*did you mean time_per_message"):
        layout_choose(replies, table_asked(words_split(["gain=time_per_mesage"]), table))
