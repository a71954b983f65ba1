# SPDX-License-Identifier: MIT
"""The command line: what is wrong is answered in one line, and `list` and `-n` can be read."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from pathlib import Path

import pytest

from conftest import Uncork
from suite.base.client import BINARIES, Client, build_update, client_place, client_require
from suite.base.errors import Failure


@pytest.mark.parametrize(("words", "says"), [
    (["frobnicate"], "unknown command"), (["rnu"], "did you mean run?"),
    (["run"], "nothing to run"), (["run", "quik"], "did you mean quick?"),
    (["run", "quick", "sizes"], "one scenario at a time"),
    (["run", "none.toml"], "no such scenario file"),
    (["run", "tests/scripts"], "is a folder, not the file of a scenario"),
    (["table"], "required: RESULTS (see uncork table --help)"),
    (["run", "quick", "wirte=cork"], "write"), (["run", "quick", "write=crok"], "cork"),
    (["run", "quick", "write=cork", "write=more"], "given twice"),
    (["run", "quick", "direction=send"], "no cell uses direction"),
    (["run", "quick", "messages=10"], "contradict"),
    (["run", "message=15x"], "message"), (["run", "rounds=0"], "rounds"),
    (["run", "quick", "--frob"], "--frob"), (["run", "quick", "-o"], "-o"),
    (["run", "quick", "--mor"], "--mor"), (["list", "words"], "words"),
])
def test_what_is_typed_wrong_is_answered_in_one_line(
    uncork: Uncork, words: list[str], says: str,
) -> None:
    assert says in uncork.refused(*words)
    assert not uncork.results.exists()


@pytest.mark.parametrize(("text", "says"), [
    ("[fixed]\nwrite = ", "line 2"), ("[fixde]\nwrite = 'cork'", "did you mean fixed?"),
    ("[fixed]\nwrite = 'crok'", "[fixed] write"), ("[fixed]\nwirte = 'cork'", "[fixed] wirte"),
    ("[fixed]\nwrite = 'cork'\n[table]\ncolumns = ['time_per_mesage']", "time_per_message"),
    ("[fixed]\nwrite = 'cork'\n[table]\nrows = ['wirte']", "did you mean write?"),
    ("[fixed]\nwrite = 'cork'\n[[claim]]\nsays='x'\nthat='time(write=crok) > 1'", "crok"),
    ("[fixed]\nwrite = 'cork'\n[[claim]]\nsays='x'\nthat='time > time(wirte=best)'",
     "unknown word wirte: did you mean write?"),
    ("[fixed]\nwrite = 'cork'\n[[claim]]\nsays='x'\nthat='time >'", "claim"),
    ("[fixed]\nwrite = 'cork'\n[[published]]\nwords='wirte=cork'\nmetric='time'\nvalue=1\n"
     "from='a.csv:b'", "wirte"),
])
def test_a_wrong_scenario_is_answered_in_one_line(
    uncork: Uncork, tmp_path: Path, text: str, says: str,
) -> None:
    path = tmp_path / "scene.toml"
    path.write_text(text)
    message = uncork.refused("run", str(path))
    assert says in message and str(path) in message


def test_missing_binaries_name_what_builds_them(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=f"no uncork-client in {tmp_path}.*scripts/demo"):
        client_require(client_place({"UNCORK_BIN": str(tmp_path)}))
    with pytest.raises(Failure, match="scripts/demo"):
        client_require(Client(tmp_path / "none", tmp_path))


def test_missing_binaries_are_a_failure_in_one_line(uncork: Uncork, tmp_path: Path) -> None:
    done = uncork.run("run", "quick", UNCORK_BIN=str(tmp_path / "none"))
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "scripts/demo" in done.stderr


def test_help_says_what_there_is(uncork: Uncork) -> None:
    done = uncork.run("--help")
    assert done.returncode == 0
    for name in ("run", "list", "table", "compare", "show", "check", "plot", "report", "paste",
                 "verify", "export", "lab",
                 "doctor"):
        assert f"  {name}" in done.stdout


def test_n_says_what_would_run_and_writes_nothing(uncork: Uncork) -> None:
    done = uncork.run("run", "-n", "quick", "place=free")
    assert done.returncode == 0 and done.stderr == ""
    assert "6 cells, 7 runs a round" in done.stdout and "77 runs, about 0:" in done.stdout
    commands = [line for line in done.stdout.splitlines() if line.startswith("uncork-client ")]
    assert len(commands) == 6
    assert sum(line.endswith("# baseline") for line in commands) == 1
    assert not uncork.results.exists()


def test_a_command_of_n_can_be_replayed_by_hand(uncork: Uncork, binaries: Client) -> None:
    words = ("run", "-n", "write=cork", "place=free", "duration=20ms", "warmup=0s")
    (line,) = [line for line in uncork.run(*words).stdout.splitlines() if line[0] != "#"]
    command = shlex.split(line, comments=True)
    command[0] = binaries.program
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout


def test_n_says_what_is_unsupported_and_why(uncork: Uncork) -> None:
    text = uncork.run("run", "transport=unix", "write=nodelay,cork", "-n").stdout
    (line,) = [line for line in text.splitlines() if line.startswith("# unsupported: ")]
    assert "write=cork: " in line


def test_flags_and_words_may_stand_in_any_order(uncork: Uncork) -> None:
    texts = {uncork.run(*words).stdout for words in (
        ("run", "-n", "quick", "rounds=2"), ("run", "quick", "-n", "rounds=2"),
        ("run", "rounds=2", "quick", "-n"))}
    assert len(texts) == 1 and "2 rounds" in texts.pop()


def test_list_shows_scenarios_words_and_strategies(uncork: Uncork) -> None:
    text = uncork.run("list").stdout
    unwrapped = " ".join(text.split())
    for name in ("quick", "nodelay", "sizes", "message=64", "rounds=10", "writev", "unix",
                 "1mbit to 400gbit", "0% to 50%", "0.01% to 50%", "0s to 10s", "handover_p99",
                 "the slowest request; s"):
        assert name in unwrapped
    assert max(map(len, text.splitlines())) <= 100


def test_list_fits_a_narrow_terminal(uncork: Uncork) -> None:
    text = uncork.run("list", COLUMNS="80").stdout
    assert max(map(len, text.splitlines())) <= 80


def test_list_for_programs_has_all_that_the_client_knows(uncork: Uncork) -> None:
    document = json.loads(uncork.run("list", "--json").stdout)
    assert {"words", "variants", "scenarios"} <= document.keys()
    assert "quick" in [scenario["name"] for scenario in document["scenarios"]]
    assert {"name": "bandwidth", "unit": "bit/s", "better": "higher",
            "means": "payload of messages at the receiver"} \
        in document["metrics"]


def test_a_reader_that_goes_away_is_no_error(uncork: Uncork) -> None:
    command = " ".join(map(shlex.quote, uncork.command("list"))) + " | head -n 1"
    done = subprocess.run(["sh", "-c", command], env=uncork.environment, capture_output=True,
                          text=True, timeout=60)
    assert done.stderr == "" and done.stdout.count("\n") == 1


def project_make(folder: Path, recipe: str) -> Client:
    """A build folder of a project that makes both binaries from a file `source`, without a
    compiler; recipe is the shell command that makes $1."""
    source = folder / "tree"
    source.mkdir()
    (source / "make.sh").write_text(recipe)
    (source / "source").touch()
    rules = "".join(
        f"add_custom_command(OUTPUT ${{CMAKE_BINARY_DIR}}/bin/{name} DEPENDS source\n"
        f"  COMMAND sh ${{CMAKE_SOURCE_DIR}}/make.sh ${{CMAKE_BINARY_DIR}}/bin/{name})\n"
        f"add_custom_target({name} DEPENDS ${{CMAKE_BINARY_DIR}}/bin/{name})\n"
        for name in BINARIES)
    (source / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.25)\nproject(toy NONE)\n{rules}")
    build = folder / "build"
    subprocess.run(["cmake", "-S", str(source), "-B", str(build)], check=True, capture_output=True)
    (build / "bin").mkdir()
    return Client(build / "bin", build)


def test_a_build_is_brought_up_to_date_and_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:
    client = project_make(tmp_path, 'echo >> "$1"; chmod +x "$1"')
    assert client.built is not None
    for change, lines in ((False, 1), (False, 0), (True, 1)):
        if change:
            later = time.time_ns() + 2_000_000_000
            os.utime(tmp_path / "tree" / "source", ns=(later, later))
        build_update(client, client.built)
        said = capsys.readouterr().err
        assert said.count("\n") == lines and ("up to date" in said) == bool(lines)
    assert client_require(client) == client


def test_a_build_that_breaks_is_a_failure_in_one_line(tmp_path: Path) -> None:
    client = project_make(tmp_path, "echo 'source:1: error: no such thing'; exit 1")
    assert client.built is not None
    with pytest.raises(Failure, match="error: no such thing; scripts/demo") as error:
        build_update(client, client.built)
    assert "\n" not in str(error.value)
