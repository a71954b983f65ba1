# SPDX-License-Identifier: MIT
"""A server that gets its socket from a service manager, as sd_listen_fds(3) has it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from programs import SERVER, client_run, received

START = 'LISTEN_PID=${PID:-$$} LISTEN_FDS=${COUNT:-1} exec "$@" 3<&0 0</dev/null'


def activated(passed: socket.socket, *options: str, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(["sh", "-c", START, "sh", SERVER, *options], stdin=passed, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=os.environ | variables)


@contextmanager
def listening(address: str) -> Iterator[socket.socket]:
    is_unix = address.startswith("/")
    with socket.socket(socket.AF_UNIX if is_unix else socket.AF_INET) as found:
        found.bind(address if is_unix else (address, 0))
        found.listen()
        yield found


@pytest.mark.parametrize("is_unix", [False, True])
@pytest.mark.parametrize("options", [[], ["--listen", "127.0.0.1:1"], ["--serve", "http"],
                                     ["--plain", "echo"]])
def test_a_server_serves_the_clients_of_the_socket_that_it_inherits(
        is_unix: bool, options: list[str], tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with listening(str(path) if is_unix else "127.0.0.1") as passed:
        address = f"unix:{path}" if is_unix else f"127.0.0.1:{passed.getsockname()[1]}"
        with socket.socket(passed.family) as early:  # waits since before the start
            early.connect(passed.getsockname())
            with activated(passed, *options) as server:
                assert server.stdout and server.stderr
                ready = json.loads(server.stdout.readline())["ready"]
                host, _, port = address.rpartition(":")
                assert (ready["address"], ready.get("port")) == (
                    (address, None) if is_unix else (host, int(port)))
                flags = Path(f"/proc/{server.pid}/fdinfo/3").read_text().split()[3]
                assert int(flags, 8) & os.O_CLOEXEC and int(flags, 8) & os.O_NONBLOCK
                if ready.keys() & {"serve", "plain"}:
                    early.sendall(b"GET /4096 HTTP/1.1\r\nHost: x\r\n\r\n")
                    assert received(early, 4) == (b"HTTP" if "serve" in ready else b"GET ")
                else:
                    word = "transport=unix" if is_unix else "transport=tcp"
                    assert client_run(f"server={address}", "messages=10", word).returncode == 0
                server.send_signal(signal.SIGTERM)
                assert server.wait(20) == 0
                said = f"listens on {address}, which it inherited, and not on 127.0.0.1:1\n"
                assert (said in server.stderr.read()) == ("127.0.0.1:1" in options)
        assert path.exists() == is_unix  # it belongs to the service manager


@pytest.mark.parametrize(("kind", "variables", "says"), [
    ("listens", {"COUNT": "2"}, "LISTEN_FDS=2: a server listens on one socket, so it inherits one"),
    ("listens", {"PID": "1"}, "--listen is missing"),  # those of another process
    ("connects", {}, "descriptor 3 is no stream socket that listens"),
    ("datagrams", {}, "descriptor 3 is no stream socket that listens")])
def test_what_is_no_socket_for_this_server_is_refused(kind: str, variables: dict[str, str],
                                                      says: str) -> None:
    with socket.socket(type=socket.SOCK_DGRAM if kind == "datagrams"
                       else socket.SOCK_STREAM) as passed:
        passed.bind(("127.0.0.1", 0))
        if kind == "listens":
            passed.listen()
        with activated(passed, **variables) as server:
            _, said = server.communicate(timeout=20)
    assert server.returncode == 2 and said.count("\n") == 1 and says in said, said


def test_an_inherited_socket_that_others_can_reach_needs_a_key_too() -> None:
    with listening("0.0.0.0") as passed, activated(passed) as server:
        _, said = server.communicate(timeout=20)
    assert server.returncode == 2 and "can be reached by other machines" in said
