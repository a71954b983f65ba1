# SPDX-License-Identifier: MIT
"""What a run ends with: claims in words, and a sentence for each question of the scenario."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from answers import matrix_of, result_make
from conftest import Uncork
from rendered import table_rendered, table_text
from suite import stats
from suite.analyse.answers import claims_pairs, questions_pairs
from suite.analyse.arrangement import layout_choose
from suite.analyse.selection import matrix_narrow
from suite.analyse.summary import summary_build
from suite.base.errors import UsageError
from suite.scenario.scenario import Claim, Question, scenario_load, scenario_text

WRITE = Question("Which write?", "write", "time_per_message", "place=together")


@pytest.fixture(scope="module")
def nodelay(tmp_path_factory):
    """Seven rounds of strategies in two places."""
    return matrix_of(result_make.result_write(result_make.recipe_nodelay(),
                                              tmp_path_factory.mktemp("results")))


@pytest.fixture(scope="module")
def buffers(tmp_path_factory):
    """Buffers of a Unix socket in two directions, seven rounds."""
    return matrix_of(result_make.result_write(result_make.recipe_buffers(),
                                              tmp_path_factory.mktemp("results")))


def asked(matrix, *questions, **more):
    """The matrix whose scenario asks these questions."""
    return replace(matrix, result=replace(matrix.result, scenario=replace(
        matrix.result.scenario, answers=questions, **more)))


def noisy(matrix, seed=1):
    """The matrix with times of which only noise is left."""
    frame = matrix.frame.copy()
    frame["time_per_message"] = np.random.default_rng(seed).lognormal(-9, 0.05, len(frame))
    return replace(matrix, frame=frame)


def texts_of(pairs):
    """The texts of pairs, with a space between them."""
    return " ".join(text for _, text in pairs)


def test_an_answer_says_which_value_by_how_much_and_how_sure(nodelay):
    ((label, text),) = questions_pairs(asked(nodelay, WRITE))
    assert label == "answer" and text.startswith("Which write? write=")
    assert " is best (" in text and "x as fast as write=nodelay [" in text
    assert "sure: p=0.0" in text and "corrected for 10 rows" in text


def test_a_question_about_several_groups_has_a_sentence_for_each(nodelay):
    pairs = questions_pairs(asked(nodelay, replace(WRITE, where="")))
    assert [label for label, _ in pairs] == ["answer", "", ""]
    assert [text.split(":")[0] for _, text in pairs[1:]] == ["place=together", "place=apart"]


def test_where_noise_hides_a_change_the_answer_says_so_and_how_many_rounds_decide(nodelay):
    found = [texts_of(questions_pairs(asked(noisy(nodelay, seed), WRITE))) for seed in range(12)]
    assert all("nothing is gained" not in text and "sure:" not in text for text in found)
    assert any("which noise hides: decide this with rounds=" in text for text in found)


def test_a_question_whose_word_does_not_vary_is_said_to_have_no_answer(nodelay):
    assert questions_pairs(asked(nodelay, replace(WRITE, word="reply"))) == [
        ("answer", "Which write? not answered: reply does not vary here.")]
    assert texts_of(questions_pairs(asked(nodelay, replace(WRITE, where="place=free")))) == (
        "Which write? not answered: no cell here tells time_per_message with place=free.")


def test_a_selection_answers_only_what_it_shows(nodelay):
    matrix = asked(nodelay, WRITE, replace(WRITE, asks="And apart?", where="place=apart"))
    ((_, text),) = questions_pairs(matrix_narrow(matrix, {"place": "apart"}))
    assert text.startswith("And apart? write=")
    assert texts_of(questions_pairs(matrix)).endswith(text)


def test_a_table_of_a_stored_result_has_answers_only_where_the_scenario_asks(nodelay):
    def text_of(matrix):
        layout = layout_choose(matrix, matrix.result.scenario.table)
        return table_text(summary_build(matrix, layout.metrics), layout, 120)
    assert "\nanswer" not in text_of(nodelay)
    assert "\nanswer  Which write? write=" in text_of(asked(nodelay, WRITE))
    assert "claims" not in text_of(asked(nodelay, WRITE))


def test_the_json_of_a_table_has_the_answers(nodelay):
    matrix = asked(nodelay, WRITE)
    layout = layout_choose(matrix, matrix.result.scenario.table)
    (answer,) = json.loads(table_rendered("json", summary_build(matrix, layout.metrics)))["answers"]
    assert (answer["asks"], answer["word"]) == ("Which write?", "write")
    assert answer["groups"][0]["words"] == {"place": "together"}
    assert answer["groups"][0]["best"] in answer["groups"][0]["alike"]


def test_a_question_that_best_would_answer_again_is_answered_once(buffers):
    matrix = asked(buffers, Question("Which buffer?", "sndbuf", "time"))
    table = matrix.result.scenario.table
    layout = layout_choose(matrix, table)
    text = table_text(summary_build(matrix, layout.metrics, None, layout.best), layout, 120)
    assert text.count("sndbuf=256K is best") == 1 and "answer  Which buffer?" in text
    assert "Noise floor" not in text or text.index("Which buffer?") < text.index("Noise floor")


def test_claims_are_told_in_words_with_their_verdict_and_what_was_measured(nodelay):
    claims = (Claim("a cork is one segment", "segments_per_message(write=cork place=apart) == 1"),
              Claim("it is two", "segments_per_message(write=cork place=apart) == 2"),
              Claim("uv is fast", "time_per_message(write=uv place=apart) < 1"))
    label, *_ = pairs = claims_pairs(asked(nodelay, claims=claims))
    assert label == ("claims", "holds: a cork is one segment")
    assert pairs[1][1].startswith("does not hold: it is two (exactly 1.00 against 2.00")
    assert pairs[2][1] == "1 claim about cells that this result does not have"


def test_a_scenario_with_answers_is_read_checked_and_written_again(tmp_path):
    path = tmp_path / "asks.toml"
    path.write_text('[sweep]\nwrite = ["cork", "nodelay"]\n[[answer]]\nasks = "Which?"\n'
                    'word = "write"\nmetric = "time_per_message"\n')
    scenario = scenario_load(path)
    assert scenario.answers == (Question("Which?", "write", "time_per_message"),)
    path.write_text(scenario_text(scenario))
    assert scenario_load(path) == scenario
    for wrong, said in (('wrod = "write"', "did you mean word"), ('word = "write"', "metric is m")):
        path.write_text(f'[[answer]]\nasks = "Which?"\n{wrong}\n')
        with pytest.raises(UsageError, match=said):
            scenario_load(path)


@pytest.mark.parametrize("line, said", [
    ('word = "wrote"\nmetric = "time"', "[answer] word: unknown word wrote: did you mean write"),
    ('word = "write"\nmetric = "tim"', "[answer] metric"),
    ('word = "write"\nmetric = "time"\nwhere = "place=nowhere"', '[answer] where "place=nowhere"'),
])
def test_a_slip_in_an_answer_is_refused_before_anything_runs(uncork, tmp_path, line, said):
    path = tmp_path / "asks.toml"
    path.write_text('[sweep]\nwrite = ["cork", "nodelay"]\n[[answer]]\nasks = "Which?"\n' + line)
    assert said in uncork.refused("run", str(path), "-n")


def test_a_run_ends_with_claims_and_then_answers(uncork: Uncork):
    done = uncork.run("run", "quick", "rounds=1", "duration=10ms", "warmup=0s", "place=together",
                      "write=nodelay,cork")
    last = done.stdout.split("\n\n")[-1]
    assert last.startswith("claims  ") and "\nanswer  Which way" in last
    assert done.returncode == 0 and "needs 6 rounds" in last


def test_rounds_to_find_a_change_are_those_of_a_test_that_finds_it():
    draw = np.random.default_rng(7)
    for rows, shift in ((1, 0.05), (10, 0.05)):
        pilots = [stats.rounds_to_find(np.exp(shift + draw.normal(0, 0.1, 60)), np.ones(60), True,
                                       rows) for _ in range(40)]
        rounds = int(np.median(pilots))
        ps = [stats.ratio_estimate(np.exp(shift + draw.normal(0, 0.1, rounds)), np.ones(rounds),
                                   True).p for _ in range(300)]
        assert 0.68 < np.mean([p <= stats.ALPHA / rows for p in ps]) < 0.92


def test_a_change_that_was_not_seen_needs_no_number_of_rounds():
    same = np.linspace(1, 2, 8)
    assert math.isinf(stats.rounds_to_find(same, same, True, 1))
    assert stats.rounds_to_find(2 * same, same, True,
                                15) == stats.rounds_deciding(15)
