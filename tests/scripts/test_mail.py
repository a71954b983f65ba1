# SPDX-License-Identifier: MIT
"""Blocks for mails: byte for byte, by the rules, through git am, and verified when they have been posted."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
from dataclasses import replace

import pytest

from answers import GOLDEN, NODELAY, ROOT, golden_check, matrix_of, refused, result_make, uncork
from suite import stats
from suite.commands import paste, verify
from suite.commands.paste import blocks_build
from suite.comparison.model import Change, Comparison, Difference, Row, Side, Verdict
from suite.errors import Failure, UsageError
from suite.mail.block import block_lines, comparison_block, sides_name
from suite.mail.foot import WIDTH
from suite.mail.parse import blocks_read, side_words
from suite.mail.rules import COLUMNS, RULES, WHOLE, lines_require, rules_broken
from suite.mail.styles import STYLES
from suite.mail.verify import deviations_find
from suite.metrics import METRICS
from suite.summary import Figure

CHECKPATCH_COLUMNS = 75


@pytest.fixture(scope="module")
def nodelay():
    """The stored result."""
    return matrix_of(NODELAY)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Results that are made, not stored, by name."""
    folder = tmp_path_factory.mktemp("results")
    return {recipe.name: result_make.result_write(recipe, folder) for recipe in (
        result_make.recipe_transports(), result_make.recipe_sizes(2, 6), result_make.recipe_sizes(1, 1, rounds=1),
        result_make.recipe_replies(), result_make.recipe_buffers())}


def pasted(matrix, *words, style="plain", utf8=False):
    """The blocks of a result, as lines."""
    return [block_lines(block, style, utf8) for block in blocks_build([matrix], words)]


def figure_random(chance, whole):
    """A figure that nobody measured."""
    median = 10 ** chance.uniform(-9, 9)
    if whole and chance.random() < 0.5:
        return Figure(float(chance.randint(0, 40)), stats.Interval(1, 1, 0.97), 10, True, None, ())
    width = median * 10 ** chance.uniform(-4, 0)
    level = chance.choice([0.97, None])
    interval = chance.choice([None, stats.Interval(median - width, median + width, level)])
    return Figure(median, interval, chance.randint(1, 40), False, None, ())


def estimate_random(chance):
    """A ratio around 1, or far from it."""
    value = chance.choice([1 + chance.gauss(0, 0.01), 10 ** chance.uniform(-4, 4)])
    low, high = value * (1 - chance.random() / 9), value * (1 + chance.random() / 9)
    return stats.Estimate(value, chance.choice([None, stats.Interval(low, high, 0.96)]), chance.randint(1, 40))


def change_random(chance, metric):
    """A change with a verdict that goes with it."""
    base, new = figure_random(chance, metric.whole), figure_random(chance, metric.whole)
    ratio = chance.choice([None, *[estimate_random(chance)] * 5])
    if base.exact and new.exact:
        return Change(base, new, ratio, None, None, Verdict.EXACT)
    if ratio is None or ratio.interval is None:
        return Change(base, new, ratio, None, None, Verdict.UNKNOWN)
    clear = chance.choice([Verdict.CHANGED, Verdict.BRACKETED])
    verdict = Verdict.SAME if ratio.interval.contains(1.0) else clear
    return Change(base, new, ratio, 0.01, 0.02, verdict)


def value_random(chance, axis):
    """A value of an axis: a size, a strategy, or a long message."""
    if axis == "message":
        return chance.choice(["64", "4K", "1M", "default", "32/2x4K/2x4K/2x4K/2x4K", "16+4K"])
    return "".join(chance.choice("abcdefghij-") for _ in range(chance.randint(1, 14))) + "z"


def comparison_random(matrix, seed):
    """A comparison that nobody made: any axes, any figures, any marks."""
    chance = random.Random(f"mail {seed}")
    axes = tuple(chance.sample(["message", "place", "reply_write", "transport", "security"], chance.randint(0, 4)))
    metrics = tuple(METRICS[name] for name in chance.sample(list(METRICS), chance.randint(1, 3)))
    places = dict.fromkeys(tuple(value_random(chance, axis) for axis in axes)
                           for _ in range(chance.randint(1, 12) if axes else 1))
    rows = tuple(Row(dict(zip(axes, place, strict=True)), None, None, {
        metric.name: change_random(chance, metric) for metric in metrics if chance.random() < 0.9 or not number})
        for number, place in enumerate(places))
    sides = [Side(f"write={name}", matrix, {"write": name} | ({"depth": "4"} if seed % 2 else {}), ("s1",))
             for name in ("nodelay", "cork")]
    differences = tuple(Difference(chance.choice(["kernel", "sysctl"]), f"net.ipv4.tcp_{number}", "4096\t131072",
                                   "x" * chance.randint(0, 60))
                        for number in range(chance.randint(0, 4)))
    return Comparison(
        sides[0], sides[1], axes, metrics, rows, bool(seed % 3),
        {metric.name: chance.choice([None, chance.random()]) for metric in metrics},
        {metric.name: chance.choice([None, estimate_random(chance)]) for metric in metrics},
        {metric.name: chance.randint(0, 999) for metric in metrics},
        tuple(metric.name for metric in metrics if chance.random() < 0.3), differences,
        tuple(f"note {number} " * 9 for number in range(chance.randint(0, 3))))


BAD = [
    "x" * (COLUMNS + 1), "a\tb", "ends with a blank ", "\x1b[31mred", "---", "--- a/file", "--", "--- ----", "---- four",
    "diff --git a/x b/x", "diff -u x y", "Index: x", "From here on", "From: somebody", "Subject: x", "Date: x",
    "# comment", "> quoted", "caf\u00e9",
]


@pytest.mark.parametrize("line", BAD)
def test_the_printer_refuses_what_a_mail_cannot_carry(line):
    assert rules_broken(["before", line, "after"])
    with pytest.raises(Failure, match="not fit for a mail"):
        lines_require(["before", line])


def test_every_rule_is_broken_by_some_line_and_none_by_what_is_allowed():
    for rule in RULES:
        assert any(rule.broken(line) for line in BAD), rule.why
    for lines in ([], ["", "a"], ["a", ""], ["a", "", "", "b"]):
        assert any(broken(lines) for broken, _ in WHOLE), lines
    good = ["----", "x" * COLUMNS, "- an item", "  --- indented", "Fromage", "indexes: 1", "|---|", "~", "", "2x4K #1"]
    assert rules_broken(good) == []
    assert rules_broken(["\u00b5s \u00b1"], utf8=True) == []


@pytest.mark.parametrize("style", STYLES)
def test_a_block_by_style(nodelay, style):
    cork, = pasted(nodelay, "write=cork", style=style)
    golden_check(f"paste-cork.{style}", "\n".join(cork) + "\n")


def test_the_block_in_the_readme_is_this_one():
    assert (GOLDEN / "paste-cork.plain").read_text() in (ROOT / "README.md").read_text()


def test_two_builds_are_called_by_their_revisions(nodelay):
    plan = nodelay.result.plan | {"builds": {"../old": {"folder": "../old", "digest": "d", "revision": "v1.0-3"}}}
    matrix = replace(nodelay, result=replace(nodelay.result, plan=plan))
    sides = [Side(f"build={build}", matrix, {"build": build}, ("s1",)) for build in ("this", "../old")]
    assert sides_name(*sides) == ("0123abcd; build=this", "v1.0-3; build=../old")
    assert sides_name(sides[0], sides[0]) == ("build=this", "build=this")
    block = comparison_block(replace(comparison_random(nodelay, 3), base=sides[0], new=sides[1]), [["nodelay"]])
    posted, = blocks_read("\n".join(block_lines(block)))
    assert [side_words(posted.heads[label]) for label in ("base", "new")] == [side.words for side in sides]


def test_blocks_of_other_shapes(made):
    shapes = {
        "sizes": (matrix_of(made["sizes-2-6"]), "columns=bandwidth,segments_per_message"),
        "unsupported": (matrix_of(made["transports"]), "write=more"),
        "gain": (matrix_of(made["replies"]), "reply_write=cork", "security=gnutls"),
        "default-first": (matrix_of(made["buffers"]), "direction=send", "direction=receive"),
        "one-cell": (matrix_of(made["sizes-1-1"]),),
    }
    for name, (matrix, *words) in shapes.items():
        block, = pasted(matrix, *words)
        golden_check(f"paste-{name}.txt", "\n".join(block) + "\n")


def test_symbols_where_somebody_asks_for_them(nodelay):
    plain, = pasted(nodelay, "write=cork")
    symbols, = pasted(nodelay, "write=cork", utf8=True)
    text = "\n".join(symbols)
    assert "\u00b5s" in text and "\u00b1" in text and "+/-" not in text
    assert deviations_find(*blocks_read(text), plain) == []


def test_without_words_the_baseline_is_compared_with_each_other_value(nodelay):
    heads = [(lines[0], lines[1]) for lines in pasted(nodelay)]
    assert heads == [("base: write=nodelay", f"new:  write={name}")
                     for name in ("nagle", "cork", "more", "writev", "coalesce")]


@pytest.mark.parametrize("words, base, new", [
    (["write=cork"], "write=nodelay", "write=cork"), (["write=more", "write=cork"], "write=more", "write=cork"),
    (["write=cork", "place=apart"], "write=nodelay place=apart", "write=cork place=apart"),
    (["place=together", "place=apart", "write=cork"], "place=together write=cork", "place=apart write=cork"),
    (["write=cork place=apart", "write=more place=together"], "write=cork place=apart", "write=more place=together"),
])
def test_words_choose_sides_and_narrow_them(nodelay, words, base, new):
    block, = pasted(nodelay, *words)
    assert block[:2] == [f"base: {base}", f"new:  {new}"]


def test_what_is_too_wide_is_cut_by_columns_and_then_by_the_first_axis(nodelay):
    comparison = comparison_random(nodelay, 1)
    change = Change(*[Figure(123456.0, stats.Interval(1, 2, 0.97), 7, False, None, ())] * 2,
                    stats.Estimate(900.0, stats.Interval(800.0, 1000.0, 0.97), 7), 0.01, 0.01, Verdict.CHANGED)
    metric = METRICS["messages_per_second"]

    def lines_of(axes):
        row = Row(axes, None, None, {metric.name: change})
        one = Comparison(comparison.base, comparison.new, tuple(axes), (metric,), (row,), True, {}, {}, {}, (), (), ())
        return block_lines(comparison_block(one, [["nodelay"]]))
    titles = [line for line in lines_of({"message": "32/2x4K/2x4K/2x4K/2x4K"}) if "better" in line]
    assert len(titles) == 2
    cut = lines_of({"message": "32/2x4K/2x4K/2x4K/2x4K", "place": "x" * 30})
    assert "at:   message=32/2x4K/2x4K/2x4K/2x4K" in cut
    with pytest.raises(UsageError, match="too long for a table of 72 columns"):
        lines_of({"message": "x" * 60})


@pytest.mark.parametrize("style", STYLES)
def test_any_comparison_makes_a_block_that_obeys_the_rules_and_is_verified(nodelay, style):
    for seed in range(60):
        block = comparison_block(comparison_random(nodelay, seed), [["words", "write=nodelay,cork"]])
        lines = block_lines(block, style)
        assert rules_broken(lines) == []
        posted, = blocks_read("\n".join(lines))
        assert deviations_find(posted, block_lines(block)) == [], lines
        assert set(posted.metrics) == {grid.metric.name for grid in block.grids}
        assert all(len(line) <= WIDTH for line in block.below)


def quotings(lines):
    """A block as people pass it on."""
    return {
        "quoted": [f"> {line}" for line in lines], "quoted twice": [f">> {line}".rstrip() for line in lines],
        "git log": [f"    {line}".rstrip() for line in lines], "spaced": [f"> > {line}" for line in lines],
        "in a mail": ["Hi,", "base your work on this: x", "", *lines, "", "Tested-by: somebody", "machine: mine"],
        "discussed": [text for line in lines for text in (f"> {line}", "all 35.5 1.5% 8.63 1.2% -75.7% really?")],
        "by other systems": [f"{line}\r" for line in lines],
    }


@pytest.mark.parametrize("style", STYLES)
def test_a_posted_block_is_read_however_it_was_quoted(nodelay, style):
    block, = pasted(nodelay, "write=cork", "columns=time_per_message,sends_per_message", style=style)
    for name, lines in quotings(block).items():
        posted, = blocks_read("\n".join(lines))
        assert deviations_find(posted, block) == [], name


@pytest.mark.parametrize("style", STYLES)
def test_every_changed_digit_is_found(nodelay, style):
    block, = pasted(nodelay, "write=cork", "columns=time_per_message,sends_per_message", style=style)
    text = "\n".join(block)
    for place in (place for place, letter in enumerate(text) if letter.isdigit()):
        changed = text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1:]
        read = blocks_read(changed)
        assert not read or deviations_find(read[0], block), changed[max(place - 30, 0):place + 30]


def test_what_was_left_out_or_turned_round_is_found(nodelay):
    block, = pasted(nodelay, "write=cork")
    for index, line in enumerate(block):
        if line.startswith(("together", "geomean", "n=", "machine", "differs")):
            posted, = blocks_read("\n".join(block[:index] + block[index + 1:]))
            assert deviations_find(posted, block), line
    for old, new in (("-75.7%", "+75.7%"), ("-75.7%", "~"), ("lower is", "higher is"), (", us", ", ms"),
                     ("write=cork", "write=more")):
        posted, = blocks_read("\n".join(block).replace(old, new, 1))
        assert deviations_find(posted, block), new


def command_run(module, capsys, *arguments):
    """(exit status, standard output) of a command, in this process."""
    parser = argparse.ArgumentParser()
    module.arguments(parser)
    status = module.main(parser.parse_args([str(argument) for argument in arguments]))
    return status, capsys.readouterr().out


def test_the_commands_say_which_figure_is_not_the_same(tmp_path):
    block = uncork("paste", NODELAY, "write=cork").stdout
    assert block.splitlines() == pasted(matrix_of(NODELAY), "write=cork")[0]
    (tmp_path / "mail").write_text(block.replace("8.63", "8.36"))
    done = uncork("verify", tmp_path / "mail", NODELAY)
    assert done.returncode == 1
    assert done.stdout == ("Time per message, place=together, new: posted 8.36, recomputed 8.63\n"
                           "not the same: 1 of write=cork against write=nodelay\n")


def test_verify_finds_a_block_in_a_mail_and_says_that_all_is_the_same(tmp_path, capsys):
    _, block = command_run(paste, capsys, NODELAY, "write=cork")
    (tmp_path / "mail").write_text("Hello,\n\n" + "".join(f"> {line}\n" for line in block.splitlines()))
    assert command_run(verify, capsys, tmp_path / "mail", NODELAY) == (
        0, "the same: all 23 figures and texts of write=cork against write=nodelay\n")


def test_a_block_of_another_result_is_not_the_same(made, tmp_path, capsys):
    (tmp_path / "mail").write_text(command_run(paste, capsys, made["transports"], "write=cork")[1])
    status, said = command_run(verify, capsys, tmp_path / "mail", NODELAY)
    assert status == 1 and "not the same" in said


def test_what_is_no_block_is_refused(tmp_path, capsys):
    (tmp_path / "mail").write_text("base: nothing\nnew: nothing either\n")
    assert "no block of uncork paste in it" in refused("verify", tmp_path / "mail", NODELAY)
    with pytest.raises(UsageError, match="no such file"):
        command_run(verify, capsys, tmp_path / "none", NODELAY)


def test_paste_takes_one_result_or_two(capsys):
    with pytest.raises(UsageError, match="one result or of two"):
        command_run(paste, capsys, NODELAY, NODELAY, NODELAY)
    with pytest.raises(UsageError, match="one session"):
        command_run(paste, capsys, NODELAY, NODELAY)


@pytest.mark.parametrize("words, said", [
    (["write=crok"], "did you mean cork?"), (["columns=bandwith"], "did you mean bandwidth?"),
    (["columns=time,time"], "given twice"), (["columns=time", "columns=user"], "columns is given twice"),
    (["write=cork", "write=more", "write=nagle"], "two sides"), (["columns=bandwidth_of"], "unknown metric"),
    (["columns=records_per_reply", "write=cork"], "have no"), (["place=elsewhere"], "no cell"),
])
def test_what_paste_refuses(nodelay, words, said):
    with pytest.raises(UsageError, match="") as error:
        pasted(nodelay, *words)
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.fixture
def git(tmp_path):
    """Runs git in a folder of the test's own, with nobody's configuration; gives its output."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed: nothing to send a patch with")
    names = {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER")
             for key, value in (("NAME", "A U Thor"), ("EMAIL", "author@example.org"))}

    def run(folder, *arguments):
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        done = subprocess.run(["git", *arguments], cwd=place, capture_output=True, text=True, timeout=60,
                              env=os.environ | names | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"})
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


@pytest.mark.parametrize("style, utf8", [("plain", False), ("md", True)])
def test_a_block_in_a_commit_message_survives_git_am(nodelay, tmp_path, git, style, utf8):
    blocks = pasted(nodelay, "columns=time_per_message,segments_per_message", style=style, utf8=utf8)
    message = "net: cork small writes\n\n" + "\n\n".join("\n".join(lines) for lines in blocks) + "\n"
    (tmp_path / "message").write_text(message)
    for folder in ("from", "to"):
        git(folder, "init", "-q")
        (tmp_path / folder / "file").write_text("one\n")
        git(folder, "add", "file")
        git(folder, "commit", "-q", "-m", "begin")
    (tmp_path / "from" / "file").write_text("two\n")
    git("from", "commit", "-q", "-a", "-F", "../message", "--signoff")
    git("to", "am", "-q", "../from/" + git("from", "format-patch", "-1").strip())
    sent, taken = git("from", "log", "-1", "--format=%B"), git("to", "log", "-1", "--format=%B")
    assert taken == sent and taken.startswith(message)
    assert not [line for line in taken.splitlines()
                if len(line) > CHECKPATCH_COLUMNS or line.startswith(("---\n", "--- ", "diff -", "#", "From "))]
    assert [deviations_find(posted, lines) for posted, lines in zip(
        blocks_read(git("to", "log", "-1")), blocks, strict=True)] == [[]] * len(blocks)
