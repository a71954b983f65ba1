# SPDX-License-Identifier: MIT
"""`uncork bisect`: on a small repository whose commits build a library that is loaded into uncork,
and one of which makes that library take MSG_MORE from every send()."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answers import NODELAY
from conftest import Uncork
from suite.commands import parser_make
from suite.commands.bisect import SKIP, TREE, result_judge
from suite.decide.gate import gates_parse

COMMITS = 16
GATE = ("--fail-if", "segments_per_message > 1")
CELL = ("message=15x2", "reply=2", "write=more", "place=free", "duration=5ms", "warmup=1ms")
LIBRARY = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
ssize_t send(int fd, const void *data, size_t size, int flags) {
    ssize_t (*next)(int, const void *, size_t, int) = dlsym(RTLD_NEXT, "send");
    return next(fd, data, size, size > WHOLE ? flags KEPT : flags);
}
"""
BUILD = """set -e
grep -q 'void \\*data' lib.c  # else it does not build
cc -shared -fPIC -o lib.so lib.c -ldl
mkdir -p bin
loaded="LD_PRELOAD=$PWD/lib.so exec BINARIES/uncork-client"
printf '#!/bin/sh\\n%s "$@"\\n' "$loaded" >bin/uncork-client
printf '#!/bin/sh\\nexec BINARIES/uncork-server "$@"\\n' >bin/uncork-server
chmod +x bin/*
"""

pytestmark = pytest.mark.skipif(not (shutil.which("git") and shutil.which("cc")),
                                reason="git and cc are needed")


def git(tree: Path, *arguments: str, given: str = "") -> str:
    """What git says in a tree, with this on its standard input."""
    return subprocess.run(["git", "-C", str(tree), *arguments], check=True, capture_output=True,
                          input=given, text=True).stdout.strip()


def test_the_examples_of_its_help_can_be_typed(uncork: Uncork):
    text = uncork.run("help", "bisect").stdout.replace("\\\n", "")
    examples = [shlex.split(line) for line in text.splitlines() if line.startswith("  uncork ")]
    assert [one[:2] for one in examples] == [["uncork", "bisect"]] * 2
    for _, name, *arguments in examples:
        options = parser_make(name).parse_intermixed_args(arguments)
        assert gates_parse(options.fail_if) and " ".join(options.words).count(TREE) <= 1
        assert bool(options.build) == bool(options.tree)


@pytest.fixture
def tree(uncork: Uncork, tmp_path: Path) -> Callable[..., Path]:
    """Makes a repository of 16 commits, of which those from bad on take MSG_MORE away, and those in
    broken do not build. Tags name them c1 to c16. whole: of how many bytes a call is left as
    it is; of 0, uncork finds out that MSG_MORE does nothing."""
    def make(bad: int, broken: tuple[int, ...] = (), whole: int = 1) -> Path:
        folder = tmp_path / "repository"
        folder.mkdir()
        git(folder, "init", "--quiet", "--initial-branch=main")
        build, history = BUILD.replace("BINARIES", str(uncork.bin)), ""
        for number in range(1, COMMITS + 1):
            text = LIBRARY.replace("KEPT", "& ~MSG_MORE" if number >= bad else "").replace(
                "WHOLE", str(whole))
            text = text.replace("*data", "") if number in broken else text
            history += (f"commit refs/heads/main\ncommitter a <a@b> {number} +0000\n"
                        f"data <<.\nchange {number}\n.\n"
                        f"M 644 inline lib.c\ndata <<.\n// {number}\n{text}.\n"
                        f"M 644 inline build.sh\ndata <<.\n{build}.\n"
                        f"reset refs/tags/c{number}\nfrom refs/heads/main\n\n")
        git(folder, "fast-import", "--quiet", given=history)
        git(folder, "reset", "--quiet", "--hard")
        return folder
    return make


def bisected(uncork: Uncork, folder: Path, *arguments: str, good: str = "c1", bad: str = "c16"
             ) -> subprocess.CompletedProcess[str]:
    """What the command says of a tree, which is left as it was."""
    before = git(folder, "status", "--porcelain", "--branch"), git(folder, "rev-parse", "HEAD")
    done = uncork.run("bisect", good, bad, "--tree", str(folder), "--build", "sh build.sh",
                      *arguments)
    assert before == (git(folder, "status", "--porcelain", "--branch"),
                      git(folder, "rev-parse", "HEAD"))
    assert len(git(folder, "worktree", "list").splitlines()) == 1
    assert not git(folder, "for-each-ref", "refs/bisect")
    return done


@pytest.mark.parametrize("bad", [
    9, *(pytest.param(bad, marks=pytest.mark.long) for bad in (2, 16))])
def test_the_commit_that_stopped_joining_segments_is_found(
    uncork: Uncork, tree: Callable[..., Path], bad: int, folder_short: Path,
) -> None:
    done = bisected(uncork, tree(bad), *GATE, *CELL)
    assert done.returncode == 0, done.stderr
    assert re.search(rf"^# first bad commit: .* change {bad}$", done.stdout, re.MULTILINE)
    assert re.search(r"segments_per_message: 1\d\.\d+, .*, beside > 1: regression$", done.stdout,
                     re.MULTILINE)
    assert "\ngit bisect start " in done.stdout
    assert len(re.findall(r"^\w{7,}  (good|bad) +change ", done.stdout, re.MULTILINE)) in (5, 6)
    assert not list(folder_short.iterdir())  # the worktrees are gone


BROKEN = r"  skip  change [67]: it does not build: "
WORKS_NOT = r"  bad   change 7: unsupported: write=more does not work"
CHANGED = r": segments_per_message: 1\d\.\dx, .*, beside > \+100%: regression"


@pytest.mark.parametrize("made, words, good, bad, shown", [
    ({"bad": 7, "whole": 0}, GATE, 6, 8, WORKS_NOT),
    ({"bad": 12}, ("--fail-if", "segments_per_message > +100%", "rounds=6"), 11, 13, CHANGED),
    pytest.param({"bad": 7, "whole": 0}, ("--fail-if", "unsupported"), 6, 8, WORKS_NOT,
                 marks=pytest.mark.long),
    pytest.param({"bad": 5, "broken": (6, 7)}, GATE, 4, 9, BROKEN, marks=pytest.mark.long),
], ids=["cannot run what GOOD can", "a change from GOOD in the same rounds", "the same, asked for",
        "does not build"])
def test_what_a_step_says_and_that_the_commit_is_found(
    uncork: Uncork, tree: Callable[..., Path], made: dict[str, Any], words: tuple[str, ...],
    good: int, bad: int, shown: str,
) -> None:
    done = bisected(uncork, tree(**made), *words, *CELL, good=f"c{good}", bad=f"c{bad}")
    assert done.returncode == 0, done.stderr
    assert re.search(rf"^# first bad commit: .* change {made['bad']}$", done.stdout, re.MULTILINE)
    assert re.search(shown, done.stdout)


def test_skipped_commits_leave_several_and_status_3(uncork: Uncork, tree: Callable[..., Path]
                                                    ) -> None:
    done = bisected(uncork, tree(9, broken=(8, 9)), *GATE, *CELL, good="c7", bad="c10")
    assert done.returncode == 3, done.stderr
    found = re.findall(r"^# possible first bad commit: .* change (\d+)$", done.stdout,
                       re.MULTILINE)
    assert sorted(map(int, found)) == [8, 9, 10]


def test_what_it_refuses(uncork: Uncork, tree: Callable[..., Path]) -> None:
    folder = tree(5)
    for ends, words, says in (
        (("c9", "c1"), CELL, "c1 does not come after c9"),
        (("c9", "c9"), CELL, "does not come after"),
        (("nowhere", "c9"), CELL, 'or has no revision "nowhere"'),
        (("c1", "c9"), ("target={tree}", "build={tree}"), "{tree} may stand once, in one word"),
    ):
        done = bisected(uncork, folder, *GATE, *words, good=ends[0], bad=ends[1])
        assert (done.returncode, done.stderr.count("\n")) == (2, 1) and says in done.stderr
    for words, says in (((), "required: --fail-if"), ((*GATE, "--tree", "/"), "--build is missing"),
                        ((*GATE, "--tree", "/", "--build", "make"), "/ is no git repository")):
        assert says in uncork.refused("bisect", "a", "b", *words)


@pytest.mark.parametrize("ends, says", [
    (("c6", "c9"), "the gates fail at GOOD: segments_per_message: 1"),
    (("c1", "c4"), "the gates pass at BAD: segments_per_message: 1.00"),
])
def test_both_ends_are_tried_first(
    uncork: Uncork, tree: Callable[..., Path], ends: tuple[str, str], says: str,
) -> None:
    done = bisected(uncork, tree(5), *GATE, *CELL, good=ends[0], bad=ends[1])
    assert done.returncode == 1 and f"uncork: {says}" in done.stderr.splitlines()[-1]


def test_a_revision_with_failed_runs_is_skipped(tmp_path: Path) -> None:
    """Although the cell that failed has no gate of its own: its other runs were within."""
    folder = shutil.copytree(NODELAY, tmp_path / "nodelay")
    verdict, why = result_judge(folder, gates_parse(["sends_per_message > 20"]), ["write=cork"])
    assert verdict == SKIP and why.startswith("1 of ") and "write=coalesce" in why
    assert why.endswith("; the first: server: connection reset by peer")


def test_ctrl_c_leaves_the_tree_and_removes_the_worktrees(
    uncork: Uncork, tree: Callable[..., Path], folder_short: Path, tmp_path: Path,
) -> None:
    folder = tree(9)
    begun = tmp_path / "begun"
    command = uncork.command(
        "bisect", "c1", "c16", "--tree", str(folder), *GATE, *CELL, "--build",
        f"sh build.sh; test $(git rev-parse HEAD) = {git(folder, 'rev-parse', 'c1')} || "
        f"test $(git rev-parse HEAD) = {git(folder, 'rev-parse', 'c16')} || "
        f"{{ touch {begun}; sleep 60; }}")
    child = subprocess.Popen(command, env=uncork.environment, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 300
    while not begun.exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert begun.exists() and child.returncode == 130, err
    assert err.splitlines()[-1] == "uncork: interrupted"
    assert len(git(folder, "worktree", "list").splitlines()) == 1
    assert not git(folder, "status", "--porcelain") and not list(folder_short.iterdir())
