# SPDX-License-Identifier: MIT
"""The machines that tests make: that they are reached, that they are apart, and that nothing is
left of them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hosts import PORT, SSHD_PROGRAMS, hosts_open, hosts_refusal

pytestmark = pytest.mark.skipif(hosts_refusal() is not None, reason=str(hosts_refusal()))

MAKER = """
import os, pathlib, sys
from hosts import hosts_open
with hosts_open(pathlib.Path(sys.argv[1]), 1) as hosts:
    print(*hosts.hosts["h1"].pids(), flush=True)
    os.kill(os.getpid(), 9)
"""


def any_runs(pids: list[int]) -> bool:
    """Whether one of these processes is there."""
    return any(Path(f"/proc/{pid}").exists() for pid in pids)


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
