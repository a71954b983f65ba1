# SPDX-License-Identifier: MIT
"""The command line: what is wrong is answered in one line, and `list` and `-n` can be read."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ROOT, Uncork
from suite.base import client as base_client
from suite.base.client import BINARIES, Client, client_list, client_open
from suite.base.errors import synonyms_read
from suite.commands import COMMANDS
from suite.commands import list as list_command
from suite.scenario.scenario import TOP, Scenario, part_keys
from suite.scenario.toml import keys_of
from within import uncork_call

NODELAY = str(ROOT / "tests/scripts/data/nodelay")


@pytest.mark.parametrize(("words", "says"), [
    (["frobnicate"], "unknown command"), (["rnu"], "did you mean run?"),
    (["run"], "nothing to run"), (["run", "quik"], "did you mean quick?"),
    (["run", "quick", "sizes"], 'one scenario at a time, not "quick" and "sizes"'),
    (["run", "none.toml"], "no scenario can be read there: No such file"),
    (["run", "tests/scripts"], "no scenario can be read there: Is a directory"),
    (["table"], "required: RESULTS (see uncork table --help)"),
    (["run", "quick", "wirte=cork"], "write"), (["run", "quick", "write=crok"], "cork"),
    (["run", "quick", "write=cork", "write=more"], "given twice"),
    (["run", "quick", "direction=send"], "no cell uses direction"),
    (["run", "quick", "messages=10"], "contradict"),
    (["run", "message=15x"], "message"), (["run", "rounds=0"], "rounds"),
    (["run", "quick", "--frob"], "--frob"), (["run", "quick", "-o"], "-o"),
    (["run", "quick", "--mor"], "--mor"), (["list", "wrods"], "wrods"),
    (["--hlep"], "did you mean --help?"), (["help", "tabel"], "did you mean table?"),
    (["run", "quick", "--qick"], "did you mean --quick?"),
    (["run", "quick", "--rounds", "5"], "a word has no dashes: rounds=..."),
    (["run", "quick", "--duration=5ms"], "a word has no dashes: duration=..."),
    (["run", "nodelay", "rounds"], '"rounds" is no scenario, and a word has a value: rounds=...'),
    (["run", "nodelay", "auto"], '"auto" is no scenario, and a word has a value: engine=...'),
    (["run", "quick", "write", "=", "cork"], '"=" is not a word: words are key=value'),
    (["run", "quick", "write=", "cork"], '"write=" is not a word: words are key=value'),
    (["list", "wrte"], "did you mean write?"), (["list", "bandwith"], "did you mean bandwidth?"),
    (["list", "write", "--json"], "leave out the word"),
    (["plot", NODELAY, "-o", "-"], "a picture is several files"),
    (["run", "quick", "-o", "-"], "a result is a folder"),
    (["table", NODELAY, "wirte=cork"], "did you mean write?"),
    (["table", NODELAY, "write=crok"], "did you mean cork?"),
    (["table", NODELAY, "colums=time"], "did you mean columns?"),
    (["plot", NODELAY, "knd=forest"], "did you mean kind?"),
    (["check", NODELAY, "place=apart", "write=coalesce"], "no claim of nodelay is only about"),
])
def test_what_is_typed_wrong_is_answered_in_one_line(
    uncork: Uncork, words: list[str], says: str,
) -> None:
    assert says in uncork.refused(*words)
    assert not uncork.results.exists()


@pytest.mark.parametrize(("text", "says"), [
    ("[fixed]\nwrite = \n", "line 2"), ("[fixde]\nwrite = 'cork'", "did you mean fixed?"),
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


def test_a_synonym_names_a_word_or_a_value_of_ours_and_is_none_itself(
    uncork: Uncork, binaries: Client,
) -> None:
    vocabulary = client_list(binaries).words
    ours = {*vocabulary, *(choice for word in vocabulary.values()
                           for choice in word.get("choices", ()))}
    synonyms = synonyms_read()
    assert synonyms and {meant for _, meant in synonyms} <= ours
    assert not {typed for typed, _ in synonyms} & vocabulary.keys()
    for typed, says in (("delay=1ms", "link_delay"), ("tls=on", "security"),
                        ("security=ssl", "openssl")):
        assert f"'{says}'" in uncork.refused("run", typed)
    assert "did you mean place?" in uncork.refused("table", NODELAY, "cpu=apart")


CLAIMS = """[fixed]
message = '15x2'
[sweep]
write = ['nodelay', 'cork']
[run]
rounds = '1'
duration = '1ms'
[[claim]]
says = 'corked it is one segment'
that = 'segments_per_message(WORDS) == 1'
"""


@pytest.mark.parametrize(("words", "says"), [
    ("", "segments_per_message: write varies and is not named; it is one of nodelay, cork"),
    ("write=cork link_rate=1gbit",
     "segments_per_message(write=cork link_rate=1gbit): no cell has the word link_rate"),
])
def test_a_claim_that_the_scenario_leaves_undecided_is_refused_before_anything_runs(
    uncork: Uncork, tmp_path: Path, words: str, says: str,
) -> None:
    path = tmp_path / "scene.toml"
    path.write_text(CLAIMS.replace("WORDS", words).replace("()", ""))
    for options in ((), ("-n",)):
        said = uncork.refused("run", str(path), *options)
        assert said.startswith(f"uncork: {path}: [claim] that ") and said.endswith(says)
    assert not uncork.results.exists()


@pytest.mark.parametrize(("word", "note"), [
    ("write=nodelay,more", ""), ("message=15x2,64", "message varies: 1 claim of the scenario "
                                                    "cannot be decided without it"),
    ("transport=null", ""), ("rounds=2", ""),
])
def test_a_claim_that_words_of_the_shell_leave_undecided_is_no_error(
    uncork: Uncork, tmp_path: Path, word: str, note: str,
) -> None:
    path = tmp_path / "scene.toml"
    path.write_text(CLAIMS.replace("WORDS", "write=cork"))
    done = uncork.run("run", str(path), word, "-n")
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if "claim" in line] == (
        [f"# {note}"] if note else [])


def test_missing_binaries_are_a_failure_in_one_line(uncork: Uncork, tmp_path: Path) -> None:
    done = uncork.run("run", "quick", UNCORK_BIN=str(tmp_path / "none"))
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert re.match(f"uncork: no uncork-client in {tmp_path}/none .*scripts/demo", done.stderr)


def test_n_says_what_would_run_and_what_cannot_and_writes_nothing(uncork: Uncork) -> None:
    done = uncork.run("run", "-n", "quick", "place=free")
    assert done.returncode == 0 and done.stderr == ""
    assert "6 cells, 7 runs a round" in done.stdout and "77 runs, about 0:" in done.stdout
    commands = [line for line in done.stdout.splitlines() if line.startswith("uncork-client ")]
    assert len(commands) == 6
    assert "; baseline: write=nodelay; " in done.stdout
    text = uncork.run("run", "transport=unix", "write=nodelay,cork", "-n").stdout
    (line,) = [line for line in text.splitlines() if line.startswith("# unsupported: ")]
    assert "write=cork: " in line
    assert not uncork.results.exists()


def test_a_command_of_n_can_be_replayed_by_hand(uncork: Uncork, binaries: Client) -> None:
    words = ("run", "-n", "write=cork", "place=free", "duration=20ms", "warmup=0s")
    (line,) = [line for line in uncork.run(*words).stdout.splitlines() if line[0] != "#"]
    command = shlex.split(line, comments=True)
    command[0] = binaries.program
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout


@pytest.mark.parametrize("orders", [
    ("run -n quick rounds=2", "run quick -n rounds=2", "run rounds=2 quick -n"),
    (f"table --json {NODELAY} write=cork", f"table {NODELAY} --json write=cork",
     f"table {NODELAY} write=cork --json")])
def test_flags_and_words_may_stand_in_any_order(uncork: Uncork, orders: tuple[str, ...]) -> None:
    texts = {uncork.run(*line.split()).stdout for line in orders}
    assert len(texts) == 1 and texts.pop()


@pytest.mark.parametrize("columns", [100, 80])
def test_list_shows_scenarios_words_and_strategies(uncork: Uncork, columns: int) -> None:
    text = uncork.run("list", COLUMNS=str(columns)).stdout
    unwrapped = " ".join(text.split())
    for name in ("quick", "nodelay", "sizes", "message=64", "rounds=10", "writev", "unix",
                 "1mbit to 400gbit", "0% to 50%", "0.01% to 50%", "0s to 10s", "handover_p99",
                 "maximum of the time from a request to its reply"):
        assert name in unwrapped
    assert max(map(len, text.splitlines())) <= columns


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


def test_sources_that_are_newer_are_said_and_nothing_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:
    binaries, source = tmp_path / "build" / "bin", tmp_path / "common" / "a.c"
    for path in (*(binaries / name for name in BINARIES), source):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o755)
    monkeypatch.setattr(base_client, "ROOT", tmp_path)
    monkeypatch.setattr(base_client, "RELEASE", tmp_path / "build")
    monkeypatch.delenv("UNCORK_BIN", raising=False)
    for seconds, said in ((-2, ""), (2, f"uncork: the sources are newer than {binaries}: "
                                        f"cmake --build {tmp_path / 'build'}\n")):
        later = time.time_ns() + seconds * 10**9
        os.utime(source, ns=(later, later))
        assert client_open().folder == binaries
        assert capsys.readouterr().err == said


@pytest.fixture
def counted(binaries: Client, tmp_path: Path) -> tuple[Uncork, Callable[[], list[str]]]:
    """`uncork` with a client that notes the first argument of each start, and those arguments."""
    folder, notes = tmp_path / "bin", tmp_path / "notes"
    folder.mkdir()
    fake = folder / "uncork-client"
    fake.write_text(f'#!/bin/sh\necho "$1" >>"{notes}"\nexec "{binaries.program}" "$@"\n')
    fake.chmod(0o755)
    (folder / "uncork-server").symlink_to(binaries.folder / "uncork-server")
    return Uncork(folder, tmp_path / "results"), lambda: notes.read_text().splitlines()


@pytest.mark.parametrize("name", ["nodelay", "tls", "drbd_packetize"])
def test_the_vocabulary_is_asked_once_and_all_selectors_of_a_scenario_are_one_call(
    counted: tuple[Uncork, Callable[[], list[str]]], name: str,
) -> None:
    uncork, notes = counted
    done = uncork.run("run", name, "-n")
    assert done.returncode == 0, done.stderr
    # --expand: the words of the plan, each exclude, the baseline, and what answers name
    text = (ROOT / "scenarios" / f"{name}.toml").read_text()
    excluded = len(tomllib.loads(text).get("exclude", []))
    assert notes().count("--list=json") == 1
    assert notes().count("--expand") == 3 + excluded


HEAVY = """import json, sys
from suite.__main__ import main
for words in json.loads(sys.argv[1]):
    try:
        status = main(words)
    except SystemExit as end:  # --help
        status = end.code
    assert status in (0, 2, None) and "pandas" not in sys.modules, (words, status)
"""
LIGHT = (
    (), ("--help",), ("--version",), ("help",), ("list",), ("list", "write"), ("rnu",), ("table",),
    ("table", "/none"), ("compare", "write=cork"), ("plot", "/none", "kind=bars"), ("run", "quik"),
    ("run", "quick", "wirte=cork"), ("report", "/none"), ("run", "quick", "-n"),
)


def test_help_lists_and_mistakes_do_not_wait_for_pandas(uncork: Uncork) -> None:
    done = subprocess.run([sys.executable, "-c", HEAVY, json.dumps(LIGHT)], env=uncork.environment,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_says_its_exit_statuses(uncork: Uncork, name: str) -> None:
    texts = [uncork_call(words, uncork.environment) for words in (("help", name), (name, "--help"))]
    assert texts[0].stdout == texts[1].stdout and "exit status: 0 done, 1 failed" in texts[0].stdout
    assert COMMANDS[name].help in " ".join(texts[0].stdout.split())


def test_each_command_has_a_function_and_each_module_a_command() -> None:
    files = {path.stem for path in (ROOT / "scripts/suite/commands").glob("*.py")} - {"__init__"}
    assert files == {command.module or name for name, command in COMMANDS.items()}
    for name, command in COMMANDS.items():
        text = (ROOT / f"scripts/suite/commands/{command.module or name}.py").read_text()
        functions = [f"{name}_{part}" for part in command.parts] or [name]
        assert all(f"\ndef uncork_{function}(options" in text for function in functions)


def test_help_has_every_command_and_the_version_is_that_of_the_programs(
    uncork: Uncork, binaries: Client,
) -> None:
    assert all(f"\n  {name} " in uncork.run("--help").stdout for name in COMMANDS)
    done = subprocess.run([binaries.program, "--version"], capture_output=True, text=True)
    assert uncork.run("--version").stdout == done.stdout


@pytest.mark.parametrize("command, says", [
    ("table", "--hyperfine (there is --csv, --help, --html, --json, --md)"),
    ("paste", "--json (there is --help, --netdev, --style, --utf8)"),
    ("show", "--json (there is --help); a word has no dashes: json=... (see uncork show --help)"),
])
def test_an_option_that_a_command_has_not_names_those_that_it_has(uncork, command, says) -> None:
    option = says.partition(" ")[0]
    for words in ([NODELAY, option], [NODELAY, "place=apart", option], [option, NODELAY]):
        assert says in uncork.refused(command, *words)


@pytest.mark.parametrize("command", ["export", "plot"])
def test_a_full_disk_names_the_file_of_a_picture_and_a_histogram(
    uncork, tmp_path, monkeypatch, command,
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(os, "fsync", full)
    done = uncork_call((command, NODELAY, "-o", tmp_path / "files"), uncork.environment)
    assert done.returncode == 1 and done.stderr.startswith(f"uncork: {tmp_path}/files/")
    assert done.stderr.endswith(": No space left on device\n") and done.stderr.count("\n") == 1


def test_list_explains_the_parts_of_a_scenario_and_its_arms_by_name(uncork, tmp_path) -> None:
    assert {*list_command.SCENARIO_PARTS, *(key.name for key in part_keys(TOP))} == set(
        keys_of(Scenario))
    assert "a name and words that belong together" in uncork.run("list", "arm").stdout
    assert "which value of word is best by" in uncork.run("list", "answer").stdout
    path = tmp_path / "buffers.toml"
    path.write_text('[[arm]]\nname = "small"\nsndbuf = "64K"\n[[answer]]\nasks = "Which?"\n'
                    'word = "arm"\nmetric = "bandwidth"\n')
    text = uncork.run("list", str(path)).stdout
    assert re.search(r"arm +small: sndbuf=64K\n +answer +Which\?", text)
    assert re.search(r"^arm=write\n +means +direction=send .*\n +in +unix_sndbuf$",
                     uncork.run("list", "write").stdout, re.MULTILINE)
    assert "no scenario can be read there" in uncork.refused("list", f"{path}.toml")


@pytest.mark.parametrize("name, says", [
    ("~", "undecided: the interval contains 1"),
    ("A/A", "the two runs of the baselines differ"),
    ("gates", "gate, fail-if means a limit that no row may be beyond"),
    ("fail-if", "--fail-if 'time_per_message > +3%'"),
    ("mixed", "two groups of rounds contradict each other"),
    ("block", "rounds that share a machine state"), ("message", "15x2 is 15 fragments of 2 bytes"),
    ("arm", 'name = "small", sndbuf = "64K"'),
])
def test_list_explains_signs_of_tables_and_terms(uncork: Uncork, name: str, says: str) -> None:
    assert says in " ".join(uncork.run("list", name).stdout.split())


def test_list_explains_one_word_in_a_screen(uncork: Uncork) -> None:
    text = uncork.run("list", "client.write=", COLUMNS="80").stdout
    assert len(text.splitlines()) < 40 and "default" in text and "writev" in text
    text = uncork.run("list", "target", PATH=str(uncork.bin)).stdout
    assert re.search(r"not here: .*busybox.* (is|are) missing: "
                     r"scripts/setup/target vng installs (it|them)", " ".join(text.split()))
    assert "bit/s" in uncork.run("list", "bandwidth").stdout
    assert "; apart, together, free default" in " ".join(
        uncork.run("list", "place").stdout.split())
    assert "hot, cold:SIZE; 1 to 4G bytes" in " ".join(uncork.run("list", "source").stdout.split())
    assert "or a list of them, required: the" in uncork.run("list", "published").stdout
    assert "uncork run quick" in uncork.run("list", "quick").stdout
    nodelay = uncork.run("list", "nodelay").stdout  # a word, a strategy and a scenario
    assert re.findall("^(?:write|nodelay|scenario).*", nodelay, re.M) == [
        "scenario nodelay", "nodelay=", "write=nodelay reply_write=nodelay"]
    for name in json.loads(uncork.run("list", "--json").stdout)["words"][:4]:
        done = uncork.run("list", name["key"])
        assert name["key"] in done.stdout and done.returncode == 0, done.stderr


LEFT_OUT = "uncork: left out 10 of 12 cells of nodelay: not write=cork,more place=together\n"


def test_words_select_cells_of_a_table_and_change_no_figure(uncork: Uncork) -> None:
    whole = uncork.run("table", NODELAY, "--csv").stdout.splitlines()
    done = uncork.run("table", NODELAY, "write=cork,more", "place=together", "--csv")
    assert done.stderr == LEFT_OUT
    head, *rows = done.stdout.splitlines()
    assert len(rows) == 2 and head == whole[0] and set(rows) < set(whole)
    cells = {tuple(cell["axes"].items()): cell for cell in json.loads(
        uncork.run("table", NODELAY, "--json").stdout)["cells"]}
    done = uncork.run("table", NODELAY, "write=cork,more", "place=together", "--json")
    shown = json.loads(done.stdout)["cells"]
    assert len(shown) == 2
    assert all(cell == cells[tuple(cell["axes"].items())] for cell in shown)


def test_words_select_cells_of_pictures_pages_and_claims(uncork: Uncork, tmp_path: Path) -> None:
    words = ("write=cork,more", "place=together")
    done = uncork.run("plot", NODELAY, *words, "kind=bars,forest,order", "-o", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, LEFT_OUT)
    drawn = (tmp_path / "time_per_message-bars.txt").read_text()
    assert "cork" in drawn and "writev" not in drawn
    done = uncork.run("report", NODELAY, *words, "-o", "-")
    assert done.stderr == LEFT_OUT and done.stdout.startswith("<!") and "</html>" in done.stdout
    done = uncork.run("check", NODELAY, "place=together")
    assert done.stderr.startswith("uncork: left out 6 of 12 cells")
    whole = uncork.run("check", NODELAY).stdout
    said = [line.partition(" - ")[2] for line in done.stdout.splitlines() if " - " in line]
    assert said and all(line in whole for line in said) and len(said) < whole.count(" - ")
    done = uncork.run("export", NODELAY, *words, "-o", str(tmp_path))
    assert done.stderr == LEFT_OUT and done.stdout.count(".hgrm") == 2
    done = uncork.run("paste", NODELAY, "write=cork", "place=apart")
    assert done.stderr == (
        "uncork: left out 10 of 12 cells of nodelay: not write=nodelay,cork place=apart\n")
