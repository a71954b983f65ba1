# SPDX-License-Identifier: MIT
"""Blocks that were posted: quoted, sent by git, changed in a digit, and held against a result."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import textwrap
from collections import Counter
from email.message import EmailMessage

import pytest

from answers import NODELAY, matrix_of, refused, result_make, uncork
from mails import command_run, pasted, verified
from suite.base.errors import UsageError
from suite.commands.compare import block_verify
from suite.commands.compare import uncork_paste as paste
from suite.commands.compare import uncork_verify as verify
from suite.present.mail.parse import blocks_read, deviations_find
from suite.present.tables.mail import STYLES

CHECKPATCH_COLUMNS = 75


def quotings(lines):
    """A block as people pass it on."""
    return {
        "quoted": [f"> {line}" for line in lines],
        "quoted twice": [f">> {line}".rstrip() for line in lines],
        "git log": [f"    {line}".rstrip() for line in lines],
        "spaced": [f"> > {line}" for line in lines],
        "in a mail": ["Hi,", "base your work on this: x", "", *lines, "", "Tested-by: somebody",
                      "machine: mine"],
        "discussed": [text for line in lines
                      for text in (f"> {line}", "all 35.5 1.5% 8.63 1.2% -75.8% really?")],
        "by other systems": [f"{line}\r" for line in lines],
        "by a browser": [line.replace("  ", " \u00a0") for line in lines],
        "without empty lines": [line for line in lines if line],
    }


@pytest.mark.parametrize("style", STYLES)
def test_a_posted_block_is_read_however_it_was_quoted(nodelay, style):
    block, = pasted(nodelay, "write=cork", "columns=time_per_message,sends_per_message",
                    style=style)
    for name, lines in quotings(block).items():
        posted, = blocks_read("\n".join(lines))
        assert deviations_find(posted, block) == [], name


@pytest.mark.parametrize("quote", ("", "> ", ">> "))
@pytest.mark.parametrize("columns", (60, 64, 68))
@pytest.mark.parametrize("style", STYLES)
def test_a_block_that_a_mail_program_wrapped_is_read_quoted_or_not(nodelay, style, columns, quote):
    block, = pasted(nodelay, "write=cork", "columns=time_per_message,sends_per_message",
                    style=style)
    wrapped = [quote + part for line in block
               for part in textwrap.wrap(line, columns, break_on_hyphens=False) or [""]]
    assert len(wrapped) > len(block)
    posted, = blocks_read("\n".join(wrapped))
    assert deviations_find(posted, block) == []


@pytest.mark.parametrize("style", STYLES)
def test_figures_under_a_title_that_is_gone_or_unknown_are_not_called_the_same(nodelay, style):
    block, = pasted(nodelay, "write=cork", "columns=time_per_message,sends_per_message",
                    style=style)
    for index in (index for index, line in enumerate(block) if "is better" in line):
        for instead in ([], ["What a message takes, us (lower is better)"],
                        [block[index] + ", TCP over lo"]):
            posted, = blocks_read("\n".join([*block[:index], *instead, *block[index + 1:]]))
            metrics = [f"columns={','.join(posted.metrics)}"]
            again, = pasted(nodelay, "write=cork", *metrics)  # as verify prints it again
            assert deviations_find(posted, again), instead


@pytest.mark.parametrize("style", STYLES)
def test_every_changed_letter_is_found(nodelay, style):
    lines, = pasted(nodelay, "write=cork", style=style)
    known, = blocks_read("\n".join(lines))
    chance = random.Random(style)
    for number, line in enumerate(lines):
        for place, letter in enumerate(line):
            if letter.isalnum() and not line.startswith("```"):
                other = chance.choice("abxyz0123456789.%+-~,=".replace(letter, ""))
                text = "\n".join([*lines[:number], line[:place] + other + line[place + 1:],
                                  *lines[number + 1:]])
                read = blocks_read(text)
                assert not read or read[0].words != known.words, text


GARBAGE = (
    "\x00\x1b[31m", "\ufeff\u202e", "| | |", "[", "]", "geomean of 2 cells",
    "geomean of x cells -1%", "n=", "at:", "new: write=nagle", "n=7 rounds", "```", "\\", "[-1%,",
    "Time per message, us (lower is better)", "place base +/- new +/- change 95% CI", "machine: ",
    "together 1 2 3 4 5 6 7 8 9", "x" * 5000,
)


def damaged(lines, chance):
    """A block of which one to three lines were changed, but for the first and the last."""
    lines = [*lines]
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(1, len(lines) - 1)
        line, words = lines[place], lines[place].split(" ")
        cut, word = chance.randint(0, len(line)), chance.randrange(len(words))
        lines[place:place + 1] = chance.choice([
            [], [line, line], [line[:cut]], [line[cut:]], [f"{line} 7.7"],
            [line, chance.choice(GARBAGE)], [f"{line[:cut]}{chance.choice(GARBAGE)}"],
            [" ".join(words[:word] + words[word + 1:])],
            [" ".join(words[:word] * 2 + words[word:])], chance.sample(lines[1:], 3),
        ])
    return lines


def words_of(lines):
    """How often each word stands in a text, without rules, fences and titles."""
    return Counter(word for line in lines if not line.startswith("```") and "is better)" not in line
                   for word in line.split() if not re.fullmatch(r"[-:|]+|\\", word))


@pytest.mark.parametrize("style", STYLES)
def test_a_damaged_block_is_never_the_same_and_never_an_error(nodelay, style, capsys):
    columns = "columns=time_per_message,sends_per_message"
    block, = pasted(nodelay, "write=cork", columns, style=style)
    end = len(block) - (style == "md")  # what stands behind its command is no part of a block
    for seed in range(60):
        lines = damaged(block[:end], random.Random(f"{style} {seed}"))
        same = [block_verify(posted, [nodelay]) for posted in blocks_read("\n".join(lines))]
        assert same != [True] or words_of(lines) == words_of(block[:end]), lines
    assert "Traceback" not in capsys.readouterr().out


def said_of(change, capsys, tmp_path):
    """What verify says of the block whose text was changed."""
    _, text = command_run(paste, capsys, NODELAY, "write=cork", "geomean=all")
    return verified(capsys, tmp_path, change(text), NODELAY)


@pytest.mark.parametrize("old, new, posted", [
    ("0.504x  [0.501x, 0.508x]", "", "nothing"), ("0.508x]", "0.508x] 1 2 3 4", "1 2 3 4"),
    ("1.05x", "1.05x  1.05x", "1.05x"), ("apart     93.5", "93.5", "nothing"),
    ("geomean", "nowhere   1.0  1.0%\ngeomean", "nowhere 1.0 1.0%"),
    ("apart     93.5  1.2%", "apart  93.5  1.2%\napart     93.5  1.2%", "apart 93.5 1.2%"),
])
def test_figures_that_are_gone_or_there_twice_are_a_difference(
    old, new, posted, capsys, tmp_path
):
    status, said = said_of(lambda text: text.replace(old, new, 1), capsys, tmp_path)
    assert status == 1 and f"posted {posted}, recomputed " in said


DEEP = [f"/srv/{'builds/' * 9}{name}-{'0123456789abcdef' * 5}" for name in ("old", "new")]


@pytest.mark.parametrize("sweep", [
    {"peer": ["[::1]:7", "127.0.0.1:7"], "write": ["nodelay", "cork"]},
    {"target": ["ssh:h1/fd00::1+ssh:h2/fd00::2", "local"], "write": ["nodelay", "cork"]},
    {"write": ["nodelay", "cork"], "build": DEEP}, {"build": DEEP, "write": ["nodelay", "cork"]},
    {"build": DEEP[:1], "write": ["nodelay", "cork"]},
])
@pytest.mark.parametrize("style", STYLES)
def test_any_value_of_an_axis_can_be_posted_and_verified(sweep, style, capsys, tmp_path):
    fixed = {"workload": "request", "message": "15x2", "reply": "2", "place": "apart"}
    key, values = list(sweep.items())[-1]
    recipe = result_make.Recipe("axes", fixed, sweep, 7, f"{key}={values[0]}",
                                result_make.request_record)
    result = result_make.result_write(recipe, tmp_path)
    columns = "columns=time_per_message,segments_per_message"
    status, text = command_run(paste, capsys, result, columns, "--style", style)
    assert status == 0
    quoted = "".join(f"> {line}\n" for line in text.splitlines())
    status, said = verified(capsys, tmp_path, quoted, result)
    assert (status, said[:9]) == (0, "the same:")
    for line in text.splitlines():
        if re.search(r"\d%", line):
            changed = re.sub(r"(\d)%", lambda digit: f"{(int(digit[1]) + 1) % 10}%", line, count=1)
            assert verified(capsys, tmp_path, text.replace(line, changed, 1), result)[0] == 1, line


def test_the_commands_say_which_figure_is_not_the_same(tmp_path):
    block = uncork("paste", NODELAY, "write=cork").stdout
    assert block.splitlines() == pasted(matrix_of(NODELAY), "write=cork")[0]
    (tmp_path / "mail").write_text(block.replace("8.63", "8.36"))
    done = uncork("verify", tmp_path / "mail", NODELAY)
    assert done.returncode == 1
    assert done.stdout == ("posted 8.36, recomputed 8.63: "
                           "together  35.6  2.0%  8.63  1.2%  0.242x  [0.239x, 0.245x]\n"
                           "not the same: 1 of write=cork against write=nodelay\n")


def flowed(text, without_space):
    """A text as a program that sends format=flowed breaks its lines: behind spaces."""
    lines = []
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip(">"))
        first, *parts = re.findall(r".{1,40}(?: |$)|\S+(?: |$)", line[depth:]) or [""]
        parts = [first, *(f" {part}" if depth or part[0] in " >" else part for part in parts)]
        soft = " " if without_space else ""
        lines += [">" * depth + part + soft * (place < len(parts) - 1)
                  for place, part in enumerate(parts)]
    return "\n".join(lines) + "\n"


def mails_of(text):
    """A text as mails, by what its sender's program did to it."""
    mails = {}
    for encoding in ("8bit", "quoted-printable", "base64"):
        mail = EmailMessage()
        mail["From"], mail["Subject"] = "A U Thor <author@example.org>", "net: cork"
        mail.set_content(text, cte=encoding)
        mails[encoding] = mail.as_bytes()
    both = EmailMessage()
    both.set_content(f"On Monday you wrote:\n{text}", cte="quoted-printable")
    both.add_attachment(text.encode(), maintype="application", subtype="octet-stream")
    mails["with an attachment"] = b"From author Mon Nov 23 2026\n" + both.as_bytes()
    for name, without_space in (("flowed", False), ("flowed, DelSp", True)):
        head = "Content-Type: text/plain; charset=utf-8; format=flowed"
        mails[name] = (f"{head}{'; delsp=yes' * without_space}\n\n"
                       + flowed(text, without_space)).encode()
    mails["of an unknown character set"] = (
        "Content-Type: text/plain; charset=x-none\n\n" + text).encode()
    mails["not declared"] = text.encode()
    return mails


@pytest.mark.parametrize("quote", ["", "> "])
@pytest.mark.parametrize("utf8", [False, True])
def test_a_block_in_any_mail_is_the_same_and_a_changed_digit_is_found(
    quote, utf8, tmp_path, capsys,
):
    _, block = command_run(paste, capsys, NODELAY, "write=cork", *["--utf8"] * utf8)
    block = "".join(f"{quote}{line}\n" for line in block.splitlines())
    for old, new, same in (("8.63", "8.63", 0), ("8.63", "8.36", 1)):
        for name, mail in mails_of(block.replace(old, new)).items():
            status, said = verified(capsys, tmp_path, mail, NODELAY)
            assert status == same, (name, said)
            assert "posted 8.36" in said if same else re.fullmatch(
                r"the same: all \d+ words of write=cork against write=nodelay\n", said), name


def test_what_is_no_block_is_refused(tmp_path, capsys):
    (tmp_path / "mail").write_text("base: nothing\nnew: nothing either\n")
    assert "no block of uncork paste in it" in refused("verify", tmp_path / "mail", NODELAY)
    with pytest.raises(UsageError, match="No such file"):
        command_run(verify, capsys, tmp_path / "none", NODELAY)
    with pytest.raises(UsageError, match="Is a directory: the file with the block comes first"):
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
        done = subprocess.run(["git", *arguments], cwd=place, capture_output=True, text=True,
                              timeout=60,
                              env=os.environ | names |
                              {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"})
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


@pytest.mark.parametrize("style, utf8", [("plain", False), ("md", True)])
def test_a_block_in_a_commit_message_survives_git_am(nodelay, tmp_path, git, style, utf8):
    blocks = pasted(nodelay, "columns=time_per_message,segments_per_message", style=style,
                    utf8=utf8)
    message = "net: cork small writes\n\n" + "\n\n".join("\n".join(lines)
                                                         for lines in blocks) + "\n"
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
                if len(line) > CHECKPATCH_COLUMNS
                or line.startswith(("---\n", "--- ", "diff -", "#", "From "))]
    assert [deviations_find(posted, lines) for posted, lines in zip(
        blocks_read(git("to", "log", "-1")), blocks, strict=True)] == [[]] * len(blocks)
