# SPDX-License-Identifier: MIT
"""Kills of a client, a subject, a runner or a load at any time leave no process, file or port."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Uncork
from processes import children_of, descendants_of, is_gone
from suite.scenario.subject import definitions_file, programs_read

LISTENS = "0A"  # the state of a socket in /proc/net/tcp
ENDS_WITHIN_S = 40.0  # beside other work
WORDS = {"nbdkit": ("protocol=nbd", "op=read:4K"), "qemu-nbd": ("protocol=nbd", "op=write:4K"),
         "memcached": ("protocol=memcached", "op=get:100"),
         "redis": ("protocol=resp", "op=get:100"), "haproxy": ("workload=proxy",),
         "uncork": ("protocol=nbd-structured", "op=read:4K")}
LOADED = {name: ("workload=command", "load=nbdcopy", f"{name}.size={size}")  # a second, twice
          for name, size in (("nbdkit", "2G"), ("uncork", "1G"))}
OF_LOAD = {"load": "nbdcopy", "timer": "hyperfine", "supervisor": "uncork-client"}
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """TMPDIR of all processes of a test, which `nobody` may enter."""
    path = Path(tempfile.mkdtemp(prefix="unk-", dir="/tmp"))
    path.chmod(0o777)
    monkeypatch.setenv("TMPDIR", str(path))
    yield path
    shutil.rmtree(path)
    path.with_suffix(".said").unlink(missing_ok=True)


def processes_of(folder: Path) -> set[int]:
    """Those of uncork: they have the TMPDIR of the test."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"TMPDIR={folder}\0".encode() in (path / "environ").read_bytes():
                found.add(int(path.name))
    return found - {os.getpid()}


def subjects_of(folder: Path) -> set[int]:
    """What uncork-server has started, when it has a log: before that it prints its version."""
    found: set[int] = set()
    for pid in processes_of(folder) if any(folder.glob("uncork-subject-*/.log")) else ():
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text() == "uncork-server\n":
                found |= {*children_of(pid)}
    return found


def below(pid: int) -> dict[int, str]:
    found: dict[int, str] = {}
    for child in descendants_of(pid):
        with contextlib.suppress(OSError):
            found[child] = Path(f"/proc/{child}/comm").read_text().strip()
    return found


def named_below(pid: int, name: str) -> list[int]:
    """The descendants of a process with this name.

    A server that the client starts has the client's name for a moment. Of the processes with that
    name only the supervisor leads a session.
    """
    with contextlib.suppress(ProcessLookupError):
        return [child for child, what in below(pid).items()
                if what == name and (name != "uncork-client" or os.getsid(child) == child)]
    return []


def listeners_of(processes: set[int]) -> set[str]:
    """The inodes of their sockets that listen."""
    held = set()
    for pid in processes:
        with contextlib.suppress(OSError):
            held |= {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}
    return {inode for inode in listening() if f"socket:[{inode}]" in held}


def listening() -> set[str]:
    rows = map(str.split, Path("/proc/net/tcp").read_text().splitlines()[1:])
    return {row[9] for row in rows if row[3] == LISTENS}


def kill_once(uncork: Uncork, folder: Path, dice: random.Random, victim: str, name: str) -> None:
    """Starts a run, kills the victim at some time, and waits until nothing is left of it."""
    is_loaded = victim in OF_LOAD or (name in LOADED and can_load() and dice.random() < 0.6)
    words = (*(LOADED if is_loaded else WORDS)[name], f"subject={name}", "place=free",
             *(() if is_loaded else ("duration=1s" if victim == "runner" else "duration=60s",)))
    if victim == "runner":
        command = uncork.command("run", *words, "rounds=9", "-o", f"{folder}/result")
    else:
        command = [str(uncork.bin / "uncork-client"), "--subjects", definitions_file(), *words]
    with (said := folder.with_suffix(".said")).open("w") as output:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=output,
                                   env=uncork.environment, start_new_session=True)
    until = time.monotonic() + ENDS_WITHIN_S

    def check() -> None:
        assert time.monotonic() < until and process.poll() is None, (victim, name, said.read_text())

    if victim == "subject" or dice.random() < 0.7:  # else before it may be there
        while not subjects_of(folder):
            check()
    time.sleep(dice.uniform(0, 0.2))
    named: list[int] = []
    while victim in OF_LOAD and not named:
        named = named_below(process.pid, OF_LOAD[victim])
        check()
    subjects = subjects_of(folder)
    sockets = listeners_of(processes_of(folder) | subjects)
    others = {*below(process.pid)} | subjects
    if victim == "subject" or named:
        for pid in named or subjects:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    else:
        process.send_signal(dice.choice(SIGNALS))
    process.wait(ENDS_WITHIN_S)
    shutil.rmtree(folder / "result", ignore_errors=True)
    until = time.monotonic() + ENDS_WITHIN_S
    while (left := [processes_of(folder), [pid for pid in others if not is_gone(pid)],
                    [*folder.iterdir()], sockets & listening()]) != [set(), [], [], set()]:
        assert time.monotonic() < until, (victim, name, left)
        time.sleep(0.02)


def can_load() -> bool:
    return bool(programs_read()["nbdcopy"].find() and shutil.which("hyperfine"))


@pytest.mark.parametrize("count", [12, pytest.param(100, marks=pytest.mark.long)])
def test_kills_leave_no_process_no_file_and_no_port(uncork: Uncork, folder: Path,
                                                    count: int) -> None:
    names = [name for name in WORDS if programs_read()[name].find()]
    loaded = [name for name in names if name in LOADED]
    victims = ["client", "subject", "runner", *(OF_LOAD if can_load() else ())]
    dice = random.Random(count)
    for number in range(count):
        victim = victims[number % len(victims)]
        kill_once(uncork, folder, dice, victim, dice.choice(loaded if victim in OF_LOAD else names))
