# SPDX-License-Identifier: MIT
"""The commands and files of docs/adding-a-strategy.md, adding-a-filter.md, adding-a-protocol.md and
of "Adding a subject" in real-programs.md work in a scratch copy of the tree."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PAGE = TOP / "docs/adding-a-strategy.md"
FILTER = TOP / "docs/adding-a-filter.md"
PROTOCOL = TOP / "docs/adding-a-protocol.md"
SUBJECT = TOP / "docs/real-programs.md"
WALK_PROGRAM = "/tmp/walk-nbd"


def page_blocks(language: str, page: Path = PAGE) -> list[str]:
    """The code blocks of the page, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def tree_files() -> list[str]:
    """Everything that belongs to the tree, committed or about to be."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listed.stdout.splitlines() if (TOP / name).is_file()]


def shell(command: str, tree: Path) -> str:
    done = subprocess.run(
        ["bash", "-euc", command],
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=400,
        env={key: value for key, value in os.environ.items() if key != "UNCORK_BIN"} |
            {"CC": str(tree.parent / "cc")},
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scratch copy in which sections 1 to 3 of the page have been followed up to the build."""
    tree = tmp_path_factory.mktemp("stranger") / "uncork"
    for name in tree_files():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(TOP / name, tree / name)
    compiler = tree.parent / "cc"  # how fast the programs are is not looked at
    compiler.write_text('#!/bin/sh\nexec cc "$@" -O0\n')
    compiler.chmod(0o755)
    for page, file in ((PAGE, "common/write/pairs.c"), (FILTER, "common/security/xor.c"),
                       (PROTOCOL, "common/protocol/tiny.c")):
        source, line = page_blocks("c", page)
        (tree / file).write_text(source)
        with (tree / file).with_name("list.def").open("a") as listing:
            listing.write(line)
    shell(build_commands()[0] + " >/dev/null", tree)
    shell(build_commands()[1] + " >/dev/null", tree)
    return tree


def build_commands() -> list[str]:
    return page_blocks("sh")[0].splitlines()


def test_the_page_shows_one_file_and_one_line() -> None:
    source, line = page_blocks("c")
    assert "`common/write/pairs.c`:" in PAGE.read_text()
    assert line == "VARIANT(pairs)\n"
    assert source.count("const struct strategy strategy_pairs") == 1


def test_a_filter_disguises_at_both_ends_what_the_strategies_send(tree: Path) -> None:
    both, one = page_blocks("sh", FILTER)[0].splitlines()
    assert "17.00 write calls" in shell(both + " duration=50ms", tree)  # the cork of TCP stays
    done = subprocess.run(one.split(), cwd=tree, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "wrong content" in done.stderr


def test_a_protocol_carries_requests_and_replies_of_its_own(tree: Path) -> None:
    mix, corked = page_blocks("sh", PROTOCOL)[0].splitlines()
    assert "tiny fetch:4K*3+store:1K" in shell(mix + " duration=50ms", tree)
    assert "per reply: 1.00 segments" in shell(corked + " duration=50ms", tree)


def test_a_subject_is_one_file(tree: Path) -> None:
    (source,), (definition,) = page_blocks("python", SUBJECT), page_blocks("toml", SUBJECT)
    listed, run = page_blocks("sh", SUBJECT)[-1].splitlines()
    with tempfile.TemporaryDirectory(prefix="walk-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)  # it runs as nobody
        program = Path(folder, "walk-nbd")
        program.write_text(source)
        program.chmod(0o755)
        (tree / "scenarios/subjects/walk.toml").write_text(
            definition.replace(WALK_PROGRAM, str(program)))
        assert "here      walk-nbd 1.0\n" in shell(listed, tree)
        told = " ".join(shell(f"{run} 2>&1 || true", tree).split())
    page = " ".join(SUBJECT.read_text().split())
    (says,) = re.findall(r'with the reason in the table: "(.*?)"', page)
    assert f"failed: protocol=nbd: {says}" in told, told


def test_it_shows_up_in_the_list(tree: Path) -> None:
    assert "a sendmsg() for every two fragments" in shell(build_commands()[2], tree)


def test_it_runs_and_makes_as_many_calls_as_the_page_says(tree: Path) -> None:
    assert "Eight write calls a message" in PAGE.read_text()
    assert "8.00 write calls" in shell(build_commands()[3], tree)


def test_it_is_a_row_of_a_table(tree: Path) -> None:
    shell(build_commands()[4].replace("duration=200ms", "duration=20ms warmup=0s rounds=2") +
          " -o results/walk", tree)
    assert re.search(r"^pairs\s", shell("scripts/uncork table results/walk", tree), re.MULTILINE)
    table = json.loads(shell("scripts/uncork table results/walk --json", tree))
    assert "pairs" in json.dumps(table)


def test_it_has_a_colour_of_its_own_in_pictures(tree: Path) -> None:
    if not shutil.which("gnuplot"):
        pytest.skip("gnuplot is missing")
    shell("scripts/uncork plot results/walk kind=bars metric=time_per_message", tree)
    data = (tree / "results/walk/plots/time_per_message-bars.dat").read_text()
    colours = {row.split('"')[-2]: row.split()[5] for row in data.splitlines() if '"' in row}
    assert set(colours) == {"nodelay", "pairs", "writev"} and len(set(colours.values())) == 3


def test_it_passes_the_tests_that_nobody_wrote_for_it(tree: Path) -> None:
    unit, loopback = page_blocks("sh")[1].splitlines()
    assert "100% tests passed" in shell(unit, tree)
    said = shell(loopback + " -q", tree)
    assert re.search(r"\b[1-9]\d* passed", said) and "failed" not in said
