# SPDX-License-Identifier: MIT
"""Python is chosen in one place, and scripts/uncork works from anywhere."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from sandbox import TOP, Sandbox

SYSTEM_PYTHON = "/usr/bin/python3"
BAD_PYTHONS = {
    "has no packages": f'exec {SYSTEM_PYTHON} -I -S "$@"',
    "exits with 1": "exit 1",
    "hangs": "sleep 300",
    "prints and does nothing": "echo answer: fits of laughter",
    "reads standard input": "cat >/dev/null; exit 1",
}


def answer_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What the pretended suite printed."""
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("kind", BAD_PYTHONS)
def test_a_bad_python3_on_path_changes_nothing(sandbox: Sandbox, kind: str) -> None:
    sandbox.command_add("python3", BAD_PYTHONS[kind])
    done = sandbox.run("scripts/uncork", "list")
    assert answer_of(done)["arguments"] == ["list"]
    assert done.stderr == ""


@pytest.mark.parametrize("kind", BAD_PYTHONS)
def test_a_bad_uncork_python_is_named_and_passed_over(sandbox: Sandbox, kind: str) -> None:
    bad = sandbox.command_add("mine", BAD_PYTHONS[kind])
    began = time.monotonic()
    done = sandbox.run("scripts/uncork", "list", UNCORK_PYTHON=str(bad))
    assert time.monotonic() - began < 20
    assert answer_of(done)["python"]
    assert done.stderr.startswith(f"uncork: UNCORK_PYTHON={bad}: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("nonsense", ["/no/such", "nonsense", "/", "a b", "-x", "$(touch hacked)"])
def test_nonsense_in_uncork_python_is_one_clear_line(sandbox: Sandbox, nonsense: str) -> None:
    done = sandbox.run("scripts/uncork", UNCORK_PYTHON=nonsense)
    answer_of(done)
    line = f"uncork: UNCORK_PYTHON={nonsense}: no such program; using {SYSTEM_PYTHON}\n"
    assert done.stderr == line
    assert not (sandbox.tree / "hacked").exists()


def test_a_good_uncork_python_is_used(sandbox: Sandbox) -> None:
    sandbox.command_add("mine", f'MARKER=mine exec {SYSTEM_PYTHON} "$@"')
    for name in ("mine", "../bin/mine", str(sandbox.bin / "mine")):
        done = sandbox.run("scripts/uncork", UNCORK_PYTHON=name)
        assert answer_of(done)["marker"] == "mine"
        assert done.stderr == ""


def test_where_none_fits_each_candidate_is_named_with_the_reason(sandbox: Sandbox) -> None:
    sandbox.command_add("python3", "sleep 300")
    sandbox.table_write("python:uncork_wanted  python3-wanted  python3-wanted  run")
    done = sandbox.run("scripts/uncork", "list", UNCORK_PYTHON="/no/such")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "uncork: no Python >= 3.11 with numpy, uncork_wanted was found: "
        "run scripts/demo, which installs it",
        "  /no/such: no such program",
        f"  {SYSTEM_PYTHON}: has no uncork_wanted",
        "  python3: did not answer in 5 s"]


def test_an_old_python_is_refused_by_its_version(sandbox: Sandbox) -> None:
    pretend = "import sys; sys.version_info = (3, 9, 2); exec(sys.argv.pop(1))"
    old = sandbox.command_add("old", f"exec {SYSTEM_PYTHON} -c '{pretend}' \"$2\"")
    done = sandbox.run("scripts/uncork", UNCORK_PYTHON=str(old))
    answer_of(done)
    assert "is Python 3.9, older than 3.11" in done.stderr


def test_arguments_and_status_pass_unchanged(sandbox: Sandbox) -> None:
    words = ["run", "message=64 65", "", "*", "-o", "a\nb"]
    done = sandbox.run("scripts/uncork", *words, STATUS="3")
    assert done.returncode == 3
    assert json.loads(done.stdout)["arguments"] == words


def test_it_works_from_another_folder_and_through_links(sandbox: Sandbox) -> None:
    elsewhere = sandbox.bin.parent / "else where"
    elsewhere.mkdir()
    (elsewhere / "link").symlink_to(sandbox.tree / "scripts/uncork")
    (elsewhere / "second").symlink_to("link")
    (sandbox.bin / "uncork").symlink_to(elsewhere / "second")
    for command in (sandbox.tree / "scripts/uncork", "./link", "./second", "uncork"):
        answer = answer_of(sandbox.run("env", str(command), folder=elsewhere))
        assert Path(answer["folder"]) == elsewhere
        assert answer["path"][0] == str(sandbox.tree / "scripts")


def test_modules_in_the_working_folder_are_not_taken_for_ours(sandbox: Sandbox) -> None:
    folder = sandbox.bin.parent / "work"
    (folder / "suite").mkdir(parents=True)
    for name in ("suite/__main__.py", "numpy.py", "json.py"):
        (folder / name).write_text("raise SystemExit('taken from the working folder')\n")
    answer_of(sandbox.run("scripts/uncork", folder=folder))


def test_no_file_starts_with_the_python_of_path() -> None:
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=TOP, capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    starts = (b"#!/usr/bin/env python", b"#!/usr/bin/python")
    files = [TOP / name for name in listed.stdout.splitlines() if (TOP / name).is_file()]
    assert [path for path in files if path.read_bytes().startswith(starts)] == []
