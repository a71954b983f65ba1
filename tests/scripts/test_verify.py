# SPDX-License-Identifier: MIT
"""Blocks that were posted: quoted, sent by git, changed in a digit, and held against a result."""

from __future__ import annotations

import os
import shutil
import subprocess
import textwrap

import pytest

from answers import NODELAY, matrix_of, refused, result_make, uncork
from mails import command_run, pasted
from suite.commands import paste, verify
from suite.errors import UsageError
from suite.mail.parse import blocks_read
from suite.mail.styles import STYLES
from suite.mail.verify import deviations_find

CHECKPATCH_COLUMNS = 75


@pytest.fixture(scope="module")
def nodelay():
    """The stored result."""
    return matrix_of(NODELAY)


def quotings(lines):
    """A block as people pass it on."""
    return {
        "quoted": [f"> {line}" for line in lines], "quoted twice": [f">> {line}".rstrip() for line in lines],
        "git log": [f"    {line}".rstrip() for line in lines], "spaced": [f"> > {line}" for line in lines],
        "in a mail": ["Hi,", "base your work on this: x", "", *lines, "", "Tested-by: somebody", "machine: mine"],
        "discussed": [text for line in lines for text in (f"> {line}", "all 35.5 1.5% 8.63 1.2% -75.8% really?")],
        "by other systems": [f"{line}\r" for line in lines],
        "by a browser": [line.replace("  ", " \u00a0") for line in lines],
    }


@pytest.mark.parametrize("style", STYLES)
def test_a_posted_block_is_read_however_it_was_quoted(nodelay, style):
    block, = pasted(nodelay, "write=cork", "columns=time_per_message,sends_per_message", style=style)
    for name, lines in quotings(block).items():
        posted, = blocks_read("\n".join(lines))
        assert deviations_find(posted, block) == [], name


@pytest.mark.parametrize("columns", (60, 64, 68))
@pytest.mark.parametrize("style", STYLES)
def test_a_block_that_a_mail_program_wrapped_is_read(nodelay, style, columns):
    block, = pasted(nodelay, "write=cork", "columns=time_per_message,sends_per_message", style=style)
    wrapped = [part for line in block for part in textwrap.wrap(line, columns, break_on_hyphens=False) or [""]]
    assert len(wrapped) > len(block)
    posted, = blocks_read("\n".join(wrapped))
    assert deviations_find(posted, block) == []


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
    for old, new in (("-75.8%", "+75.7%"), ("-75.8%", "~"), ("lower is", "higher is"), (", us", ", ms"),
                     ("write=cork", "write=more")):
        posted, = blocks_read("\n".join(block).replace(old, new, 1))
        assert deviations_find(posted, block), new


@pytest.mark.parametrize("style", STYLES)
def test_figures_under_a_title_that_is_gone_or_unknown_are_not_called_the_same(nodelay, style):
    block, = pasted(nodelay, "write=cork", "columns=time_per_message,sends_per_message", style=style)
    for index in (index for index, line in enumerate(block) if "is better" in line):
        for instead in ([], ["What a message takes, us (lower is better)"], [block[index] + ", TCP over lo"]):
            posted, = blocks_read("\n".join([*block[:index], *instead, *block[index + 1:]]))
            metrics = [f"columns={','.join(posted.metrics)}"]
            again, = pasted(nodelay, "write=cork", *metrics)  # as verify prints it again
            assert deviations_find(posted, again), instead


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


def test_a_block_of_another_result_is_not_the_same(tmp_path, capsys):
    other = result_make.result_write(result_make.recipe_transports(), tmp_path)
    (tmp_path / "mail").write_text(command_run(paste, capsys, other, "write=cork")[1])
    status, said = command_run(verify, capsys, tmp_path / "mail", NODELAY)
    assert status == 1 and "not the same" in said


def test_what_is_no_block_is_refused(tmp_path, capsys):
    (tmp_path / "mail").write_text("base: nothing\nnew: nothing either\n")
    assert "no block of uncork paste in it" in refused("verify", tmp_path / "mail", NODELAY)
    with pytest.raises(UsageError, match="no such file"):
        command_run(verify, capsys, tmp_path / "none", NODELAY)
    with pytest.raises(UsageError, match="is a folder: the file with the block comes first"):
        command_run(verify, capsys, NODELAY, tmp_path / "mail")


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
