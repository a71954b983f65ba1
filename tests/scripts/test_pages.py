# SPDX-License-Identifier: MIT
"""Documents: uncork knows every command of every page; a page by task says first what it is for."""

from __future__ import annotations

import csv
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT
from suite import stats
from suite.commands import COMMANDS
from suite.measure.words import QUICK
from suite.scenario.scenario import Claim, Picture, Published, Question, Scenario, TableLayout
from suite.scenario.toml import keys_of
from within import uncork_call

DOCS = ROOT / "docs"
PAGES = ("claims", "fleet", "install", "lab", "load", "machine", "other-tools", "patches",
         "performance", "pictures", "reading", "remote", "scenarios", "tls", "which-write")
# machines, kernels, builds and files that only the reader has
AWAY = re.compile(r"\b(target|server|hosts|build|[\w-]+\.program)=\S+|--psk \S+")


EVERY = ["../README", *sorted(path.stem for path in DOCS.glob("*.md"))]


def page_read(name: str) -> str:
    return (DOCS / f"{name}.md").read_text()


def page_commands(text: str) -> list[str]:
    """The commands of the blocks of a page, without the comments behind them, long lines joined."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    shell = "".join(block for language, block in blocks if language in ("", "sh"))
    lines = re.sub(r"\\\n *", " ", shell).splitlines()
    return [re.split(r"\s#|\s*>|\s{3,}", line.removeprefix("$ "))[0].strip() for line in lines
            if re.match(r"(\$ )?(uncork|uncork-client) ", line)]


@pytest.fixture(params=EVERY)
def page(request: pytest.FixtureRequest) -> str:
    return page_read(request.param)


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=lambda path: path.stem)
def test_a_page_says_first_what_the_reader_can_do_or_knows_after_it(path):
    assert re.match(r"# .*\n\nAfter this page you (can|know)\b", path.read_text())


@pytest.mark.parametrize("name", PAGES)
def test_a_page_by_task_shows_a_command_or_a_table_at_once(name):
    first = page_read(name).partition("\n\n")[2]
    assert re.search(r"^(```|\|)", "\n".join(first.splitlines()[:10]), re.MULTILINE)


def test_every_run_of_a_page_is_one_that_uncork_plans(page, uncork, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for toml in re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[:1]:
        Path("rpc.toml").write_text(toml)
    for line in page_commands(page):
        split = shlex.split if 'command="' in line else str.split
        words = split(AWAY.sub("", line))
        if words[:2] == ["uncork", "run"] and not {"--more", "SCENARIO"} & {*words}:
            done = uncork_call([*words[1:], "-n"], uncork.environment)
            assert done.returncode == 0, (line, done.stderr)
            assert "--quick" in words or "it takes rounds=" not in done.stdout, (line, done.stdout)


@pytest.mark.parametrize("name, said, number", [
    ("patches", r"Begin with few strategies:\s+`write=nodelay,cork rounds=(\d+)`",
     stats.rounds_deciding(2, paired=False)),
    ("patches", r"the 14 strategies of `kernels`,\s+make (\w+) sessions",
     stats.rounds_deciding(14, paired=False)),
    ("patches", r"each side needs\s+(\w+)", stats.SIDES_NEEDED),
    ("patches", r"fewer than (\w+) a side make `\?`", stats.SIDES_NEEDED),
    ("patches", r"Ten rounds and the warm-up round are (\w+) boots of each\s+kernel", 11),
    ("patches", r"`--quick` makes at most\s+(\w+) boots", int(QUICK["rounds"]) + 1),
    ("methodology", r"So 15 rows need (\d+) rounds", stats.rounds_deciding(15)),
    ("methodology", r"It needs (\d+) rounds", stats.ROUNDS_NEEDED),
    ("methodology", r"`--quick`\*\* is a first look: at most (\d+) rounds", int(QUICK["rounds"])),
    ("methodology", r"\| a boot \| (\d+) boots a side \|", stats.SIDES_NEEDED),
    ("methodology", r"\| a session \| (\d+) sessions a side \|", stats.SIDES_NEEDED),
    ("reading", r"fewer than (\d+) rounds, so the farther", stats.ROUNDS_NEEDED),
    ("pictures", r"below (\d+) rounds, the range", stats.ROUNDS_NEEDED),
])
def test_a_page_names_as_many_rounds_boots_and_sessions_as_the_runner_asks_for(name, said, number):
    found, = re.findall(said, page_read(name))
    words = {"four": "4", "six": "6", "eleven": "11"}
    assert words.get(found, found) == str(number)


def test_uncork_client_knows_the_words_of_every_client_of_a_page(page, binaries, tmp_path):
    lines = [line.removeprefix("uncork-client").strip() for line in page_commands(page)
             if line.startswith("uncork-client") and " --" not in line]
    (tmp_path / "lines").write_text("".join(f"{line}\n" for line in lines))
    done = subprocess.run([binaries.program, "--check", tmp_path / "lines"], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_every_other_command_and_option_of_a_page_is_one_of_uncork(page, uncork):
    for line in page_commands(page):
        if not line.startswith("uncork ") or line.split()[1].endswith(":"):  # what it printed
            continue
        command, *words = line.partition(" -- ")[0].split()[1:]  # of exec, not of its program
        assert command in COMMANDS, line
        asked = [["help", command]]
        asked += [[command, words[0], "--help"]] if command in ("claims", "lab") else []
        known = "".join(uncork_call(one, uncork.environment).stdout for one in asked)
        assert not [word for word in words if word.startswith("--") and word not in known], line


STEPS = page_read("scenarios").partition("\n## The keys at the top\n")[0]


def test_the_steps_of_scenarios_md_build_one_that_runs_and_shows_what_the_page_shows(
        uncork, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(toml|sh)\n(.*?)^```$", STEPS, re.MULTILINE | re.DOTALL)
    assert [kind for kind, _ in blocks] == ["toml", "sh", "toml", "toml", "toml", "toml", "sh"]
    said = {}
    for kind, text in blocks:
        if kind == "toml":
            with Path("rpc.toml").open("a") as scenario:
                scenario.write(text)
            assert uncork_call(["run", "rpc.toml", "-n"], uncork.environment).returncode == 0
            continue
        for line in text.splitlines():
            words = line.removeprefix("uncork ").split()
            if words[0] == "plot" and not shutil.which("gnuplot"):
                continue
            short = ["rounds=6", "duration=5ms", "warmup=0s"] if "-o" in words else []
            done = uncork_call([*words, *short], uncork.environment)
            assert done.returncode in ({0, 1, 3} if words[0] == "check" else {0}), done.stderr
            said[words[0]] = done.stdout
    assert "ok 1 - without a cork a header and a body are two segments" in said["check"]
    assert "server_cpu_per_message-bars.png" in said.get("plot", "server_cpu_per_message-bars.png")
    shown = STEPS.partition("\nrpc: ")[2].partition("```")[0]
    cells = re.findall(r"^12\+\S+ +\w+", shown, re.MULTILINE)
    assert len(cells) == 8 and [cell in said["table"] for cell in cells] == [True] * 8


def test_the_arms_of_scenarios_md_are_a_whole_scenario(uncork, tmp_path):
    arms, = re.findall(r"^```toml\n(.*?)^```$", page_read("scenarios").replace(STEPS, ""),
                       re.MULTILINE | re.DOTALL)
    (tmp_path / "arms.toml").write_text(arms)
    done = uncork_call(["run", tmp_path / "arms.toml", "-n"], uncork.environment)
    assert done.returncode == 0 and "# varies: write, arm;" in done.stdout, done.stderr


def test_scenarios_md_has_every_key_of_the_reader():
    page = page_read("scenarios")
    for table in (Scenario, Published, Claim, Question, TableLayout, Picture):
        for key in keys_of(table):
            assert re.search(rf"^\|.*`\[*{key}\]*`", page, re.MULTILINE), (table.__name__, key)


def counts_shown(heading: str) -> dict[tuple[str, str], tuple[int, ...]]:
    """The counts of a table of which-write.md, by strategy and shape; the table's first row begins
    with heading."""
    lines = page_read("which-write").partition(f"\n| {heading} |")[2].split("\n\n")[0].splitlines()
    shapes = [cell.strip(" `") for cell in lines[0].strip("|").split("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    return {(re.findall(r"`([\w:]+)`", row[0])[0], shape): tuple(map(int, cell.split(", ")))
            for row in rows for shape, cell in zip(shapes, row[1:], strict=True)}


@pytest.mark.parametrize(("heading", "words", "shape", "strategy", "metrics"), [
    ("strategy (`write=`)", "reply=1", "message", "write",
     ("segments_per_message", "sends_per_message")),
    ("`reply_write=`", "security=gnutls", "reply", "reply_write",
     ("records_per_reply", "segments_per_reply", "sends_per_reply")),
])
def test_counts_of_which_write_md_are_what_each_strategy_does(
        uncork, tmp_path, heading, words, shape, strategy, metrics):
    shown = counts_shown(heading)
    names, shapes = (",".join(dict.fromkeys(keys)) for keys in zip(*shown, strict=True))
    done = uncork_call(["run", *words.split(), f"{shape}={shapes}", f"{strategy}={names}",
                        "place=together", "messages=10", "warmup=1ms", "rounds=3",
                        "-o", tmp_path / "r"], uncork.environment)
    assert done.returncode == 0, done.stderr
    table = uncork_call(["table", tmp_path / "r", f"columns={','.join(metrics)}", "--csv"],
                        uncork.environment).stdout
    rows = [row for row in csv.DictReader(table.splitlines()) if row["status"] == "ok"]
    assert {(row[strategy], row[shape]) for row in rows} == set(shown)
    for row in rows:
        assert tuple(round(float(row[metric])) for metric in metrics) == shown[
            row[strategy], row[shape]], row
