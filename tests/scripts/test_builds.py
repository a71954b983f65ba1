# SPDX-License-Identifier: MIT
"""The word build: two builds of the programs as an axis of one matrix, in the same rounds."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import ROOT, Uncork, records_of
from suite.base.client import BINARIES, Client
from suite.base.runner_words import words_for_client
from suite.result.plan import Build, Plan, PlannedCell, Programs, builds_text

pytestmark = pytest.mark.usefixtures("elsewhere")

SHORT = ("message=15x2", "reply=2", "place=free", "duration=5ms", "warmup=1ms", "rounds=1")


@pytest.fixture
def build(binaries: Client, tmp_path: Path) -> Callable[[str], Path]:
    """Makes a build tree whose client notes down in the file `asked` what it was asked, and is
    otherwise the real one.

    A `script` stands before that and may end it.
    """
    def make(name: str, script: str = "") -> Path:
        tree = tmp_path / name
        (tree / "bin").mkdir(parents=True)
        client = tree / "bin" / BINARIES[0]
        client.write_text(
            f'#!/bin/sh\necho "$@" >>"{tree}/asked"\n{script}\nexec "{binaries.program}" "$@"\n')
        client.chmod(0o755)
        (tree / "bin" / BINARIES[1]).symlink_to(binaries.folder / BINARIES[1])
        return tree
    return make


def batches_of(tree: Path) -> int:
    """How many batches a build was started for; the first is the trial before all rounds."""
    return sum("--batch" in line for line in (tree / "asked").read_text().splitlines())


def test_each_cell_is_run_by_its_build_in_the_same_rounds(uncork: Uncork,
                                                          build: Callable[..., Path]) -> None:
    old, new = build("old"), build("new")
    done = uncork.run("run", *SHORT, f"build={old},{new}/bin", "-o", "both")
    assert done.returncode == 0, done.stderr
    counted = [record for record in records_of(Path("both")) if record["run"]["round"] == 1]
    assert sorted(record["words"]["build"] for record in counted) == sorted(
        [str(old)] * 2 + [f"{new}/bin"]
    )
    # the trial, then the baseline twice a round, and a warm-up round
    assert (batches_of(old), batches_of(new)) == (5, 3)
    told = json.loads(Path("both/plan.json").read_text())["builds"]
    assert told[str(old)]["folder"] == str(old /
                                           "bin") and told[str(old)][
                                               "digest"] != told[f"{new}/bin"]["digest"]
    assert "\nbuilds " in done.stdout


def test_what_would_run_names_the_program_of_each_build(uncork: Uncork,
                                                        build: Callable[..., Path]) -> None:
    old = build("old")
    lines = uncork.run("run", *SHORT, f"build=this,{old}", "-n").stdout.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith("#")] == [
        "uncork-client",
        f"{old}/bin/uncork-client",
    ]
    assert not any("build=" in line for line in lines if not line.startswith("#"))


def test_builds_are_compared_where_no_side_is_named_and_their_strategies_where_one_is(
        uncork: Uncork, build: Callable[..., Path]) -> None:
    old, new = build("old"), build("new")
    done = uncork.run("run", *SHORT, f"build={old},{new}", "write=nodelay,cork",
                      "baseline=write=nodelay", "-o", "both")
    assert done.returncode == 0, done.stderr
    for words, sides in (((), (f"build={old}", f"build={new}")),
                         (("write=cork",), ("write=nodelay", "write=cork"))):
        told, = json.loads(uncork.run("compare", "both", *words, "--json").stdout)["comparisons"]
        assert (told["base"]["name"], told["new"]["name"]) == sides


def test_a_cell_is_shown_with_the_program_that_ran_it(uncork: Uncork,
                                                      build: Callable[..., Path]) -> None:
    old = build("old")
    assert uncork.run("run", *SHORT, f"build=this,{old}", "-o", "both").returncode == 0
    shown = uncork.run("show", "both", f"build={old}")
    assert f"{old}/bin/uncork-client message=15x2" in shown.stdout, shown.stderr


@pytest.mark.parametrize("missing", [*BINARIES, "both"])
def test_a_folder_without_both_programs_is_refused(uncork: Uncork, build: Callable[..., Path],
                                                   missing: str) -> None:
    old = build("old")
    if missing == "both":
        shutil.rmtree(old)
    else:
        (old / "bin" / missing).unlink()
    told = uncork.refused("run", *SHORT, f"build=this,{old}")
    assert told == (
        f"uncork: build={old}: uncork-client and uncork-server are not in {old}, nor in its bin or "
        "build/release/bin: give a checkout that is built, or the folder of a build")


def test_a_build_may_be_a_checkout(uncork: Uncork, build: Callable[..., Path],
                                   tmp_path: Path) -> None:
    (tmp_path / "checkout/build").mkdir(parents=True)
    build("old").rename(tmp_path / "checkout/build/release")
    lines = uncork.run("run", *SHORT, "build=checkout", "-n").stdout.splitlines()
    assert lines[-1].startswith(f"{tmp_path}/checkout/build/release/bin/uncork-client ")


INCOMPATIBLE = {  # what a client does that differs from ours: what is said of it
    '[ "$1" = --batch ] && { echo "uncork-client: line 1: \'end\' is no word" >&2; exit 2; }':
        "its client does not know the line \"end\" of a batch (line 1: 'end' is no word): "
        "is it of another version?",
    '[ "$1" = --batch ] && kill -SEGV $$':
        'its client does not know the line "end" of a batch (was ended by SIGSEGV): '
        "is it of another version?",
    '[ "$1" = --list=json ] && exec echo "{}"':
        '{old}/bin/uncork-client --list=json answered without "words": is it of another version?',
    '[ "$1" = --batch ] && exec echo \'{"status": "failed", "reason": "no server"}\n{"end": 1}\'':
        "a run of messages=1 warmup=0s failed: no server",
    "exit 3": "{old}/bin/uncork-client --list=json ended with status 3",
}


@pytest.mark.parametrize("script", INCOMPATIBLE)
@pytest.mark.parametrize("options", [("-n",), ("-o", "both")])
def test_an_incompatible_build_is_one_line_before_anything_is_written(
    uncork: Uncork, build: Callable[..., Path], script: str, options: tuple[str, ...],
) -> None:
    old = build("old", script)
    told = uncork.refused("run", *SHORT, f"build=this,{old}", *options, status=1)
    assert told == f"uncork: build={old}: " + INCOMPATIBLE[script].replace("{old}", str(old))
    assert not Path("both").exists()


def test_what_an_older_build_does_not_know_names_the_build(uncork: Uncork,
                                                           build: Callable[..., Path]) -> None:
    old = build("old",
                '[ "$1" = --check ] && { echo "uncork-client: standard input:1: unknown word '
                '\\"capture\\"" >&2; exit 2; }')
    told = uncork.refused("run", *SHORT, "capture=on", f"build=this,{old}")
    assert told == f'uncork: unknown word "capture" (build={old})'


def test_a_build_that_changed_meanwhile_is_not_mixed_in(uncork: Uncork,
                                                        build: Callable[..., Path]) -> None:
    old = build("old")
    words = ("run", *SHORT, f"build=this,{old}", "-o", "both", "seed=1")
    assert uncork.run(*words).returncode == 0
    client = old / "bin" / BINARIES[0]
    client.write_text(client.read_text() + "# another\n")
    told = uncork.refused(*words, "--more")
    assert told.startswith(
        f"uncork: both was measured with another build={old} (") and "now it is" in told


@pytest.mark.parametrize(("origin", "homepage"), [
    ("https://example.org/uncork.git", "https://example.org/uncork.git"),
    ("https://user:secret@example.org/uncork", ""), ("git@example.org:uncork", ""),
    ("/srv/uncork", ""), ("", ""),
])
def test_a_build_knows_where_its_sources_came_from_unless_a_name_is_in_the_address(
    tmp_path: Path, origin: str, homepage: str,
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "config", "remote.origin.url", origin], check=True)
    source = tmp_path / "version.c"
    subprocess.run(["cmake", f"-DSOURCE_DIR={tmp_path}", f"-DOUTPUT={source}", "-P",
                    ROOT / "cmake/revision.cmake"], check=True)
    known = f'"{homepage}"' if homepage else 0
    assert f"version_homepage = {known};\n" in source.read_text()


def test_a_client_is_told_neither_that_it_is_a_build_nor_where_it_is() -> None:
    words = {"write": "cork", "build": "/a/b", "target": "gvisor", "message": "1"}
    assert words_for_client(words) == {"write": "cork", "message": "1"}


def test_a_heading_tells_this_build_only_where_a_cell_had_it() -> None:
    cells = tuple(PlannedCell(f"build={build}", {"build": build}, {}) for build in ("old", "this"))
    own = Build("", "r1", "d1", "0.1.0")
    programs = Programs({"this": own, "old": Build("old", "r0", "d0")})
    plan = Plan("words", ("build",), cells, rounds=1, seed=1, programs=programs)
    assert builds_text(plan) == "this: revision r1, d1; old: revision r0, d0"
    assert builds_text(replace(plan, cells=cells[:1])) == "old: revision r0, d0"
    assert builds_text(replace(plan, cells=cells[1:], programs=Programs({"this": own}))) == ""


def test_the_client_by_itself_says_who_starts_another_build(binaries: Client) -> None:
    done = subprocess.run([binaries.program, "build=/tmp"], capture_output=True, text=True,
                          timeout=20)
    assert done.returncode == 2 and "use uncork run" in done.stderr
