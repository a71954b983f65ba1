# SPDX-License-Identifier: MIT
"""What a result answers: claims in words, and sentences for each question of the scenario."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from answers import golden_check, matrix_of, reframed, result_make
from conftest import Uncork
from rendered import table_rendered, table_text
from simulated import METRIC, cell_name, matrix_simulated
from suite import stats
from suite.base.errors import UsageError
from suite.contrast.contrast import Verdict
from suite.contrast.verdicts import baseline_judged
from suite.decide.optimum import UNKNOWN, answers_decide, optima_build
from suite.decide.summary import summary_build
from suite.observe.metrics import METRICS
from suite.observe.selection import layout_choose, matrix_narrow
from suite.present.answers import answers_pairs, deciding_pairs
from suite.present.claims import claims_pairs
from suite.present.table import result_document
from suite.present.tables import TERMINAL
from suite.scenario.scenario import Claim, Question, scenario_load

WRITE = Question("Which write?", "write", "time_per_message", "place=together")


@pytest.fixture(scope="module")
def buffers(tmp_path_factory):
    """Buffers of a Unix socket in two directions, seven rounds."""
    return matrix_of(result_make.result_write(result_make.recipe_buffers(),
                                              tmp_path_factory.mktemp("results")))


def asked(matrix, *questions, **more):
    """The matrix whose scenario asks these questions."""
    return replace(matrix, result=replace(matrix.result, scenario=replace(
        matrix.result.scenario, answers=questions, **more)))


def questions_pairs(matrix):
    """The answers of a matrix."""
    return answers_pairs(answers_decide(matrix))


def texts_of(pairs):
    """The texts of pairs, with a space between them."""
    return " ".join(text for _, text in pairs)


def known(medians, rounds=12, noise=0.01, seed=1):
    """Runs of cells whose true medians are known, by group; the first of each is the baseline."""
    chance, medians = np.random.default_rng(seed), np.atleast_2d(medians) * 1e-5
    first = medians[:, :, None] * np.exp(chance.normal(0, noise, (*medians.shape, rounds)))
    return first, medians[:, :1] * np.exp(chance.normal(0, noise, (len(medians), rounds)))


def without(runs, place, rounds=slice(None)):
    """The runs, of which those of one cell failed."""
    first, again = runs
    first[0, place, rounds] = np.nan
    again[0] = np.nan if place == 0 else again[0]
    return first, again


def censored(matrix, place):
    """The matrix with two rounds of a cell of which only a bound is known."""
    beyond = matrix.frame["censored"].copy()
    beyond[matrix.result.runs.rows_of(cell_name(0, place))[[2, 5]]] = [{METRIC}, {METRIC}]
    return reframed(matrix, censored=beyond)


def loud(runs, factor=1.2):
    """The runs, whose baseline differs from itself."""
    return runs[0], runs[1] * factor


KNOWN = {  # the truth, and runs that are made of it
    "all values are equal": known([1, 1, 1, 1]),
    "w1 is twice as fast as the baseline w0, and the others are not": known([1, .5, .9, 1.2]),
    "w1 and w2 are equal, and twice as fast as w0": known([1, .5, .5, 1.2]),
    "w2 is 10 % faster than w0, in noise of 30 %": known([1, .95, .9, 1.05], noise=.3),
    "w1 is twice as fast as w0, in 2 rounds": known([1, .5, .9, 1.2], rounds=2),
    "the baseline w0 is fastest": known([1, 2, 1.5, 1.2]),
    "w1 equals the baseline w0, and the others are slower": known([1, 1, 1.5, 1.2], seed=3),
    "w1 is twice as fast as w0, and w2 fails": without(known([1, .5, .9, 1.2]), 2),
    "w1 is fastest, and the baseline w0 fails": without(known([1, .5, .9, 1.2]), 0),
    "w3 is slower, and fails in 10 of 12 rounds": without(known([1, .5, .9, 1.4]), 3, slice(2, 12)),
    "in one place w1 is fastest, in the other the baseline": known([[1, .5, 1.2], [1, 2, 1.1]]),
    "w1 is 3 % faster, and w0 differs from itself by 20 %": loud(known([1, .97, 1, 1.2])),
    "w1 of group 0 is 1 % faster than w0, one of 48 rows": known(
        [[1, .99, 1, 1, 1]] + [[1] * 5] * 11, rounds=6, noise=.002),
    "w1 to w3 are twice as fast as w0, and w4 is slower, in few rounds": known(
        [[1, .5, .5, .5, 2]], rounds=6),
    "w1 is twice as fast as w0, which has two censored rounds": known([1, .5, .9, 1.2]),
}


def matrices_known():
    """Every one of KNOWN as a matrix with a question."""
    for truth, runs in KNOWN.items():
        matrix = matrix_simulated(*runs)
        matrix = censored(matrix, 0) if "censored" in truth else matrix
        yield truth, asked(matrix, Question("Which write?", "write", METRIC))


def test_the_sentences_of_results_with_a_known_truth_are_true():
    lines = []
    for truth, matrix in matrices_known():
        answers = answers_decide(matrix)
        lines += [f"({truth})", *(text for _, text in answers_pairs(answers)[:3]),
                  *(text for _, text in deciding_pairs(answers)[:2]), ""]
    golden_check("answers.txt", "\n".join(lines))


def test_a_sentence_about_the_baseline_has_the_verdict_of_the_table():
    said = {Verdict.CHANGED: r"is ([12]\.\d\dx as fast|faster)",
            Verdict.UNDECIDED: r"No difference found between w\d and w\d; \d+ rounds "
                               r"would (not )?tell\. .*Keep what you have\.",
            Verdict.UNKNOWN: "cannot tell",
            Verdict.WITHHELD: "is claimed: the two runs of the baselines differ"}
    seen = set()
    for _, matrix in matrices_known():
        (answer,) = answers_decide(matrix)
        texts = [text for _, text in answers_pairs([answer]) if text != "Which write?"]
        for optimum, text in zip(answer.optima, texts, strict=True):
            verdict = optimum.best_ratio.judged.verdict
            assert [key for key, words in said.items() if re.search(words, text)] == [verdict], text
            best = matrix.cells[cell_name(int(optimum.place["group"]), int(optimum.best[1]))]
            if optimum.best_ratio.reference == "w0":
                assert verdict is baseline_judged(matrix, best, METRIC).verdict
            seen.add(verdict)
    assert seen == set(said)


def answer_text(matrix):
    """The answer of a matrix with one group."""
    return texts_of(questions_pairs(asked(matrix, Question("Which write?", "write", METRIC))))


def test_too_few_rounds_for_so_many_rows_are_said_where_they_hide_a_difference():
    matrix = matrix_simulated(*known([[1, .99, 1, 1, 1000]] + [[1] * 5] * 11, rounds=6))
    (answer,) = answers_decide(asked(matrix, Question("Which write?", "write", METRIC)))
    assert answer.optima[0].marks["w4"] == UNKNOWN and not answer.optima[0].alike
    text = texts_of(answers_pairs([answer]))
    assert "group=00000: 6 rounds cannot tell w1 from w0: it takes 11." in text


def test_a_value_on_the_other_side_of_the_baseline_is_no_value_that_may_be_as_fast():
    (found,) = optima_build(matrix_simulated(*known([[1, .5, .5, .5, 2]], rounds=8)), "write",
                            METRICS[METRIC])
    assert found.marks["w4"] == "" and set(found.alike) == {"w1", "w2", "w3"}


def test_an_answer_says_which_value_by_how_much_in_each_group_and_that_others_are_slower(nodelay):
    assert questions_pairs(asked(nodelay, WRITE)) == [
        ("answer", "Which write? coalesce is 7.52x as fast as nodelay [7.36x, 7.60x]. Slower than "
                   "coalesce and nodelay: nagle. Slower than coalesce, faster than nodelay: cork, "
                   "more, writev."),
        (None, "not answered, because no question asks: place=apart")]
    pairs = questions_pairs(asked(nodelay, replace(WRITE, where="")))
    assert [label for label, _ in pairs] == ["answer", None, None]
    assert [text.split(":")[0] for _, text in pairs[1:]] == ["place=together", "place=apart"]


def test_exact_counts_need_no_interval(nodelay):
    matrix = asked(nodelay, Question("Which?", "write", "segments_per_message", "place=apart"))
    text = texts_of(questions_pairs(matrix))
    assert text.startswith("Which? cork is exactly 15.0x better than nodelay. ")
    assert "As good: more, writev, coalesce." in text


def test_a_question_whose_word_does_not_vary_is_said_to_have_no_answer(nodelay):
    assert questions_pairs(asked(nodelay, replace(WRITE, word="reply"))) == [
        ("answer", "Which write? not answered: reply does not vary here.")]
    assert texts_of(questions_pairs(asked(nodelay, replace(WRITE, where="place=free")))) == (
        "Which write? not answered: no cell here has time_per_message with place=free. not "
        "answered, because no question asks: place=together; place=apart")


def test_a_selection_answers_only_what_it_shows(nodelay):
    matrix = asked(nodelay, WRITE, replace(WRITE, asks="And apart?", where="place=apart"))
    ((_, text),) = questions_pairs(matrix_narrow(matrix, {"place": "apart"}))
    assert text.startswith("And apart? coalesce is ")
    assert texts_of(questions_pairs(matrix)).endswith(text)
    assert not questions_pairs(matrix_narrow(matrix, {"write": "nodelay,cork"}))


def documents_of(matrix, **options):
    """A table of the matrix as text, with its usual columns."""
    layout = layout_choose(matrix, matrix.result.scenario.table)
    summary = summary_build(matrix, layout.metrics)
    return TERMINAL.render(result_document(summary, layout, **options), 100)


def test_a_table_has_its_answers_under_the_question_and_its_claims_at_the_end(nodelay):
    lines = documents_of(asked(nodelay, WRITE)).splitlines()
    assert lines[1].startswith("answer  Which write? coalesce is ")
    head = lines[:lines.index("")]
    assert any(line.startswith("note    time_per_message of write=cork") for line in head)
    assert lines[len(head) + 1] == "source                TCP_NODELAY and Small Buffer Writes"
    last = "\n".join(lines).split("\n\n")[-1]
    assert last.startswith("claims  holds: corking is at least 1.5 times faster")
    assert not any(line.startswith("answer") for line in documents_of(nodelay).splitlines())


def test_a_table_that_ends_a_run_has_claims_answers_and_rounds_last_and_no_text_twice(nodelay):
    text = documents_of(asked(nodelay, WRITE), ends_a_run=True)
    labels = [line.split("  ")[0] for line in text.split("\n\n")[-1].splitlines()]
    assert [label for label in labels if label] == ["claims", "answer", "note"]
    assert text.count("Which write?") == 1


def silent(matrix):
    return replace(matrix, result=replace(matrix.result, scenario=replace(
        matrix.result.scenario, claims=(), answers=())))


def test_a_run_that_asks_nothing_answers_which_value_is_best_in_each_of_few_groups(
    nodelay, monkeypatch,
):
    text = documents_of(silent(nodelay))
    assert "answer  Which write is best by time_per_message?\n" in text
    assert " place=together: coalesce is " in text
    monkeypatch.setattr("suite.present.table.GROUPS_ANSWERED", 1)
    assert "answer  " not in documents_of(silent(nodelay))


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
    assert " ".join(text.split()).count("Set sndbuf=256K") == 2 and "answer  Which buffer?" in text
    assert "Which sndbuf is best by time?" not in text


def test_claims_are_told_in_words_with_their_verdict_and_what_was_measured(nodelay):
    claims = (Claim("a cork is one segment", "segments_per_message(write=cork place=apart) == 1"),
              Claim("it is two", "segments_per_message(write=cork place=apart) == 2"))
    label, (_, wrong) = claims_pairs(asked(nodelay, claims=claims))
    assert label == ("claims", "holds: a cork is one segment")
    assert wrong.startswith("does not hold: it is two (exactly 1 against 2")


def test_a_claim_about_cells_that_were_left_out_failed_or_do_not_work_says_why(nodelay):
    claim = Claim("a cork is fast", "time_per_message(write=cork place=apart) < 1")
    [name] = [name for name, cell in nodelay.cells.items()
              if cell.text == "place=apart write=cork"]

    def said(cells, that=claim, **more):
        return texts_of(claims_pairs(asked(replace(nodelay, cells=cells), claims=(that, that),
                                           **more)))
    for status, text in (("failed", "failed in every round"), ("unsupported", "unsupported")):
        cell = replace(nodelay.cells[name], status=status, reasons=("no room",))
        undecided = f"undecided: a cork is fast (place=apart write=cork: {text}: no room)"
        assert said(nodelay.cells | {name: cell}) == f"{undecided} {undecided}"
    cells = {key: cell for key, cell in nodelay.cells.items() if key != name}
    absent = "2 claims about cells that this result does not have: "
    assert said(cells) == f"{absent}no cell has write=cork place=apart together"
    assert said(cells, exclude=("place=apart write=cork",)) == (
        f'{absent}exclude = "place=apart write=cork" leaves them out')
    unknown = Claim("uv is fast", "time_per_message(write=uv place=apart) < 1")
    assert said(nodelay.cells, unknown) == (
        f"{absent}write=uv was not run, only write=nagle,nodelay,cork,more,writev,coalesce")


@pytest.mark.parametrize("wrong, said", [
    ('wrod = "write"', "did you mean word"), ('word = "write"', "metric is m")])
def test_an_answer_without_its_keys_is_refused(tmp_path, wrong, said):
    path = tmp_path / "asks.toml"
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
    told = " ".join(last.split())
    assert done.returncode == 0 and (
        re.search(r"1 round cannot tell \w+ from \w+: it takes 6\.", told))


def test_rounds_to_find_a_change_are_those_of_a_test_that_finds_it():
    draw = np.random.default_rng(7)
    for rows, shift in ((1, 0.05), (10, 0.05)):
        pilots = [stats.rounds_to_find(stats.ratio_make(
            np.exp(shift + draw.normal(0, 0.1, 60)), np.ones(60), True), rows) for _ in range(300)]
        rounds = int(np.median(pilots))
        ps = [stats.ratio_make(np.exp(shift + draw.normal(0, 0.1, rounds)), np.ones(rounds),
                               True).p for _ in range(300)]
        assert 0.68 < np.mean([p <= stats.ALPHA / rows for p in ps]) < 0.92


def test_a_change_that_was_not_seen_needs_no_number_of_rounds():
    same = np.linspace(1, 2, 8)
    assert math.isinf(stats.rounds_to_find(stats.ratio_make(same, same, True), 1))
    assert stats.rounds_to_find(stats.ratio_make(2 * same, same, True), 15) == (
        stats.rounds_deciding(15))
