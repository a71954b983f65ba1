# SPDX-License-Identifier: MIT
"""Completion: what `uncork complete` offers, and that bash and zsh put it where it belongs."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import ROOT, Uncork
from suite.base.client import Client, client_list, scenario_names
from suite.commands import COMMANDS
from suite.observe.metrics import METRICS
from suite.scenario.scenario import PICTURES
from within import uncork_call

NODELAY = str(ROOT / "tests/scripts/data/nodelay")
COMPLETION = ROOT / "scripts/completion"
ANSWER_SECONDS = 60
HEAVY = ("import sys; from suite.__main__ import main; main(sys.argv[1:]); "
         "print(*{'pandas', 'numpy'} & sys.modules.keys(), file=sys.stderr)")


def offered(uncork: Uncork, line: str) -> list[str]:
    """The candidates for a line; nothing is ever said on standard error."""
    done = uncork_call(("complete", line), uncork.environment)
    assert (done.returncode, done.stderr) == (0, ""), line
    return [text.partition("\t")[0] for text in done.stdout.splitlines()]


@pytest.mark.parametrize(("line", "names"), [
    ("uncork run wri", ["write="]), ("uncork run write=cork,mo", ["write=cork,more"]),
    ("uncork run quick write=nodelay,wri", ["write=nodelay,writev"]),
    ("uncork run place=", ["place=apart", "place=together", "place=free"]),
    ("uncork run sched=r", ["sched=rr:"]), ("uncork run target=v", ["target=vng:"]),
    ("uncork run server.chu", ["server.chunk="]), ("uncork run server.touch=c",
                                                   ["server.touch=checksum"]),
    ("uncork run unix_sndbuf arm=r", ["arm=read"]), ("uncork run arm", []),
    ("uncork run baseline=write=wr", ["baseline=write=writev"]),
    ("uncork run quick qui", ["quickack="]), ("uncork run --ps", ["--psk"]),
    ("uncork bisect v1 v2 uring_b", ["uring_bundles"]), ("uncork bisect v1 v", []),
    ("uncork bisect v1 v2 unix_sndbuf arm=r", ["arm=read"]),
    ("uncork claims re", ["report"]), ("uncork claims run syq", ["syq-header-body"]),
    ("uncork claims run al", ["all"]), ("uncork claims list al", []),
    ("uncork run --psk ", []), ("uncork tab", ["table"]), ("uncork help tab", ["table"]),
    ("scripts/uncork tab", ["table"]), ("uncork nothing ", []), ("uncork verify ", []),
    ("uncork subjects ", []), (f"uncork table {NODELAY} margin=", []),
    (f"uncork table {NODELAY} wri", ["write="]),
    (f"uncork table {NODELAY} place=", ["place=together", "place=apart"]),
    (f"uncork table {NODELAY} gain=handshakes", ["gain=handshakes_per_second"]),
    (f"uncork table {NODELAY} gain=of", ["gain=off"]),
    (f"uncork table {NODELAY} best=", ["best=place", "best=write", "best=off"]),
    (f"uncork table {NODELAY} columns=time,use", ["columns=time,user"]),
    (f"uncork compare {NODELAY} geo", ["geomean="]),
    (f"uncork plot {NODELAY} kind=", [f"kind={kind}" for kind in PICTURES]),
    (f"uncork export {NODELAY} --unit ", ["ns", "us", "ms", "s"]),
    (f"uncork paste {NODELAY} --style ", ["plain", "md"]),
    ("uncork table /none wri", []), ("uncork lab u", ["up"]),
    ("uncork lab up link_d", ["link_delay="]), ("uncork list bandw", ["bandwidth"]),
    ("uncork-client plac", ["place="]), ("uncork-client --bat", ["--batch"]),
    ("uncork-client rounds", []), ("/usr/bin/uncork-server --allow-s", ["--allow-sink"]),
    ("uncork run workload=connect transport=",
     [f"transport={name}" for name in ("tcp", "unix", "mptcp")]),
    ("uncork run peer=[::1]:7 workload=pr", []), ("uncork run workload=stream,proxy dep", []),
    ("uncork run workload=stream,request dep", ["depth="]), ("uncork run duration=1s by", []),
    ("uncork run transport=unix cap", []), ("uncork run engine=block thr", []),
    ("uncork run transport=null engine=",
     [f"engine={name}" for name in ("auto", "block", "poll", "ring")]),
    ("uncork-client --pcap ", []), ("uncork run 'wri", ["write="]),
    ('uncork run not="write=cork wri', []), ('uncork run not="write=mo', ["not=write=more"]),
])
def test_a_line_is_completed_by_what_the_programs_know(
    uncork: Uncork, line: str, names: list[str],
) -> None:
    assert [name for name in offered(uncork, line)
            if not (line.endswith("best=") and name == "best=")] == names


def test_every_command_scenario_word_metric_and_result_is_offered(
    uncork: Uncork, binaries: Client,
) -> None:
    vocabulary = client_list(binaries)
    assert set(offered(uncork, "uncork ")) - {"help", "--help", "--version"} == set(COMMANDS)
    run = offered(uncork, "uncork run ")
    assert {*scenario_names(), *(f"{key}=" for key in vocabulary.words)} <= set(run)
    for key, word in vocabulary.words.items():
        names = offered(uncork, f"uncork run {key}=")
        assert {f"{key}={choice}" for choice in word.get("choices", ())
                } <= {name.rstrip(":") for name in names}, key
    assert offered(uncork, f"uncork table {NODELAY} columns=") == [
        f"columns={name}" for name in METRICS]
    shutil.copytree(NODELAY, uncork.results / "mine-1")
    (uncork.results / "empty").mkdir()
    names = offered(uncork, "uncork table ")
    assert names[0] == "mine-1" and "reference/nodelay" in names and "empty" not in names
    assert offered(uncork, "uncork table mine-1 write=na") == ["write=nagle"]
    said = uncork.run("complete", "uncork compare --fail").stdout
    assert said.startswith("--fail-if\ta limit for every row") and "> +3%)" in said


def test_without_programs_completion_has_all_that_needs_none(
    uncork: Uncork, tmp_path: Path,
) -> None:
    nowhere = Uncork(tmp_path / "nowhere", uncork.results)
    assert offered(nowhere, "uncork ta") == ["table"]
    assert offered(nowhere, "uncork run nodel") == ["nodelay"]
    assert offered(nowhere, "uncork run wri") == [] == offered(nowhere, "uncork-client --")


@pytest.mark.parametrize("line", ["uncork ta", "uncork run wri", f"uncork table {NODELAY} gain="])
def test_completion_imports_no_package(uncork: Uncork, line: str) -> None:
    done = subprocess.run([sys.executable, "-S", "-c", HEAVY, "complete", line],
                          env=uncork.environment, capture_output=True, text=True, timeout=60)
    assert done.stdout and done.stderr == "\n"


class Shell:
    """An interactive shell under a terminal, where uncork prints what it is given."""

    def __init__(self, terminal: int) -> None:
        self.terminal, self.seen = terminal, ""

    def read_until(self, pattern: str) -> str:
        """What the shell wrote up to a pattern."""
        end = time.monotonic() + ANSWER_SECONDS
        while not (found := re.search(pattern, self.seen, re.DOTALL)):
            ready, _, _ = select.select([self.terminal], [], [], max(end - time.monotonic(), 0))
            assert ready, f"the shell did not answer: {self.seen!r}"
            self.seen += os.read(self.terminal, 4096).decode(errors="replace")
        said, self.seen = self.seen[:found.end()], self.seen[found.end():]
        return said

    def type(self, keys: str) -> list[str]:
        """The arguments that uncork gets where these keys are typed, and Enter."""
        os.write(self.terminal, f"{keys}\r".encode())
        return re.findall(r"<([^>]*)>", self.read_until(r"GOT .*?END").rpartition("GOT ")[2])

    def shows(self, keys: str, *offered: str) -> None:
        """Types these keys; all of `offered` are listed below, in any order."""
        os.write(self.terminal, keys.encode())
        self.read_until("".join(f"(?=.*{re.escape(text)})" for text in offered) + ".*")
        os.write(self.terminal, b"\x15\r")  # Ctrl-U


@contextmanager
def shell_start(argv: list[str], lines: list[str], environment: dict[str, str]) -> Iterator[Shell]:
    process, terminal = pty.fork()
    if process == 0:
        os.execvpe(argv[0], argv, environment)
    shell = Shell(terminal)
    try:
        for line in lines:
            os.write(terminal, f"{line}\n".encode())
        os.write(terminal, b"echo READ''Y\n")
        shell.read_until("READY")
        yield shell
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)


STANDS_IN = "uncork() { printf 'GOT'; printf ' <%s>' \"$@\"; printf ' E''ND\\n'; }"


def shell_lines(name: str, folder: Path) -> tuple[list[str], list[str]]:
    """The command of a shell, and the lines that turn completion on in it."""
    if name == "bash":
        return ["bash", "--norc", "--noprofile", "-i"], [
            f". {COMPLETION / 'uncork.bash'}", STANDS_IN,
            "bind 'set enable-bracketed-paste off'", "bind 'set page-completions off'"]
    return ["zsh", "-f", "-i"], [
        "unsetopt ZLE_RPROMPT BEEP; PROMPT='> '", f"fpath=({COMPLETION} $fpath)",
        f"autoload -Uz compinit; compinit -u -d {folder / 'dump'}", STANDS_IN]


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_a_shell_puts_in_what_is_offered(uncork: Uncork, tmp_path: Path, name: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    shutil.copytree(NODELAY, uncork.results / "mine-1")
    (tmp_path / "some.toml").write_text("")
    environment = {key: value for key, value in uncork.environment.items()
                   if key != "PYTHONPATH"} | {"TERM": "dumb", "HOME": str(tmp_path),
                                              "UNCORK_PYTHON": sys.executable}
    argv, lines = shell_lines(name, tmp_path)
    with shell_start(argv, [f"cd {tmp_path}", *lines], environment) as shell:
        assert shell.type("uncork ru\t") == ["run"]
        assert shell.type("uncork run wri\tcork,mo\tplac\ttog\t") == [
            "run", "write=cork,more", "place=together"]
        assert shell.type("uncork run sched=r\t2") == ["run", "sched=rr:2"]
        assert shell.type("uncork run ./so\t") == ["run", "./some.toml"]
        assert shell.type("uncork table mi\twri\tna\t") == ["table", "mine-1", "write=nagle"]
        assert shell.type("uncork table ref\tnod\t--js\t") == [
            "table", "reference/nodelay", "--json"]
        shell.shows("uncork table \t\t", "mine-1", "reference/nodelay", "reference/uring_bundles")
        shell.shows("uncork run place=\t\t", "apart", "free", "together")
        assert shell.type("uncork run none=x\t") == ["run", "none=x"]
        assert "uncork:" not in shell.seen and "Traceback" not in shell.seen
