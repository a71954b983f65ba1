# SPDX-License-Identifier: MIT
"""The machines that tests make: that they are reached, that they are apart, and that nothing is
left of them."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hosts import PORT, SSHD_PROGRAMS, Hosts, hosts_open, hosts_refusal
from suite.base.client import ROOT

pytestmark = pytest.mark.skipif(hosts_refusal() is not None, reason=str(hosts_refusal()))

ASKED = ("hostname; cat /proc/sys/kernel/random/boot_id; echo ~; echo $$; ls -d /run/sshd; ls "
         f"{ROOT} | wc -l")
MAKER = """
import os, pathlib, sys
from hosts import hosts_open
with hosts_open(pathlib.Path(sys.argv[1]), 1) as hosts:
    print(*hosts.hosts["h1"].pids(), flush=True)
    os.kill(os.getpid(), 9)
"""


def said(hosts: Hosts, name: str, command: str) -> str:
    """What a command prints on a host."""
    with hosts.inside():
        done = subprocess.run([*shlex.split(hosts.ssh), name, command], stdin=subprocess.DEVNULL,
                              capture_output=True,
                              text=True, timeout=60)
    assert done.returncode == 0, done.stderr + hosts.hosts[name].log
    return done.stdout


def any_runs(pids: list[int]) -> bool:
    """Whether one of these processes is there."""
    return any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_hosts_are_reached_by_name_and_each_is_a_machine_of_its_own(tmp_path: Path) -> None:
    with hosts_open(tmp_path / "hosts", 2, hidden=ROOT) as hosts:
        first, second = (said(hosts, name, ASKED).splitlines() for name in ("h1", "h2"))
        homes = [str(host.home) for host in hosts.hosts.values()]
    assert [first[0], second[0]] == ["h1", "h2"] and first[1] != second[1]
    assert [first[2], second[2]] == homes
    assert int(first[3]) < 100, "it numbers its processes itself"
    assert first[4:] == second[4:] == ["/run/sshd", "0"]


def test_a_host_is_switched_off_and_on_and_its_link_goes_down_and_up(tmp_path: Path) -> None:
    with hosts_open(tmp_path / "hosts", 1) as hosts:
        host = hosts.hosts["h1"]
        before = host.pids()
        host.stop()
        assert len(before) >= 2 and not any_runs(before)
        with hosts.inside(), pytest.raises(ConnectionRefusedError):
            socket.create_connection((host.address, PORT), timeout=10)
        host.start()
        hosts.await_ready("h1")
        host.link_set("down")
        with hosts.inside(), pytest.raises(TimeoutError):
            socket.create_connection((host.address, PORT), timeout=0.1)
        host.link_set("up")
        hosts.await_ready("h1")
        host.sshd_kill()
        left = host.pids()
        assert host.programs(*SSHD_PROGRAMS) == []
    assert left and not any_runs(left)


def test_hosts_end_with_who_made_them(tmp_path: Path) -> None:
    maker = subprocess.run([sys.executable, "-c", MAKER, tmp_path / "hosts"], capture_output=True,
                           text=True,
                           timeout=60, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    pids = [int(pid) for pid in maker.stdout.split()]
    assert len(pids) >= 2, maker.stderr
    deadline = time.monotonic() + 30
    while any_runs(pids) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any_runs(pids)
