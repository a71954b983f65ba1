# SPDX-License-Identifier: MIT
"""The systemd unit that `cmake --install` installs: its rights are few, and enough."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from sandbox import TOP

BUILD = TOP / "build/release"
CELLS = ("message=8+8", "workload=stream", "engine=ring", "security=gnutls", "security=openssl",
         "place=apart", "write=zerocopy", "handoff=thread", "connections=3 transport=mptcp",
         "write=uring-bundle read=uring-multishot")
DONE = {"ok", "unsupported"}


@pytest.fixture(scope="module")
def unit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    prefix = tmp_path_factory.mktemp("prefix")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix, "--component", "server"],
                   check=True, capture_output=True)
    return prefix / "lib/systemd/system/uncork-server.service"


def values_of(unit: Path, key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", unit.read_text(), re.M)


def command_of(unit: Path, folder: Path) -> list[str]:
    """The command of the unit, with the key of a folder and an address of this machine."""
    (command,) = values_of(unit, "ExecStart")
    return shlex.split(command.replace("%d", str(folder)).replace("${LISTEN}", "127.0.0.1:0"))


def calls_of(name: str) -> set[str]:
    """The system calls of a set like @aio, or the one of that name."""
    if not name.startswith("@"):
        return {name}
    text = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True,
                          capture_output=True, text=True, timeout=60).stdout
    lines = [line.strip() for line in text.splitlines()[1:] if line.strip()]
    return set().union(*(calls_of(line) for line in lines if not line.startswith("#")))


def allowed_by(unit: Path) -> set[str]:
    allowed: set[str] = set()
    for line in values_of(unit, "SystemCallFilter"):
        calls = set().union(*(calls_of(name) for name in line.removeprefix("~").split()))
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed


def test_systemd_takes_the_unit_and_rates_it_below_2(unit: Path) -> None:
    for command in (["verify", "--man=no", unit.with_suffix(".socket")],
                    ["security", "--offline=true", "--threshold=19"]):
        done = subprocess.run(["systemd-analyze", *command, unit], capture_output=True, text=True,
                              timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        assert str(unit.name) not in done.stderr, done.stderr


def test_a_unit_without_restrictions_is_rated_above_2(unit: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.service"
    bare.write_text(f"[Service]\nExecStart={values_of(unit, 'ExecStart')[0]}\n")
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=19", bare],
                          capture_output=True, timeout=60)
    assert done.returncode != 0


def test_the_server_of_the_unit_makes_only_calls_that_it_allows(unit: Path, tmp_path: Path) -> None:
    key = tmp_path / "keys"
    key.touch(0o600)
    key.write_text(f"lab:{os.urandom(32).hex()}\n")
    trace = tmp_path / "trace"
    command = ["setpriv", "--bounding-set=-all", "--inh-caps=-all",  # as systemd does
               "strace", "-f", "-qq", "-o", trace, "-e", "signal=none", *command_of(unit, tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            ready = json.loads(server.stdout.readline())["ready"]
            words = f"server={ready['address']}:{ready['port']} messages=50 warmup=0s"
            done = subprocess.run([BUILD / "bin/uncork-client", "--psk", key, "--batch", "-"],
                                  input="".join(f"{cell} {words}\n" for cell in CELLS),
                                  capture_output=True, text=True, timeout=60)
        finally:
            pid = int(trace.read_text().split(maxsplit=1)[0])
            os.kill(pid, signal.SIGTERM)
    records = [json.loads(line) for line in done.stdout.splitlines()][:-1]
    assert len(records) == len(CELLS) and {record["status"] for record in records} <= DONE, done
    used = set(re.findall(r"^\d+ +(\w+)\(", trace.read_text(), re.M))
    assert {"accept4", "sched_setaffinity"} <= used and used <= allowed_by(unit)
