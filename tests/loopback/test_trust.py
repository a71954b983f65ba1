# SPDX-License-Identifier: MIT
"""What a client and a proxy do not believe of the other ends."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from control import connect
from programs import client_run, server_started

HERE, ELSEWHERE = "127.0.0.1", "127.0.0.2"  # two hosts, as far as an address tells
SHORT = ["messages=1", "warmup=0s", "place=free"]


# ---- where data connections go ----

def pour(source: socket.socket, target: socket.socket) -> None:
    """Passes bytes on until the source ends."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def control_relayed(server: str) -> Iterator[str]:
    """A host of its own that passes the control connection of one client on to a server, and nothing else."""
    listener = socket.create_server((ELSEWHERE, 0))

    def relay() -> None:
        client = listener.accept()[0]
        target = connect(server)
        threading.Thread(target=pour, args=(target, client), daemon=True).start()
        pour(client, target)

    threading.Thread(target=relay, daemon=True).start()
    yield f"{ELSEWHERE}:{listener.getsockname()[1]}"
    listener.close()


def test_data_connections_go_to_the_host_that_control_has_reached() -> None:
    """The server behind the relay listens for data on another address, where control would not have led."""
    with server_started(f"{HERE}:0") as server, control_relayed(server.address) as relayed:
        done = client_run("--json", f"server={relayed}", *SHORT)
        assert done.returncode == 1
        assert f"cannot connect to {ELSEWHERE}:" in json.loads(done.stdout)["reason"]


def test_a_proxy_is_given_the_host_of_the_server_that_the_client_has_reached() -> None:
    with (server_started(f"{HERE}:0", "--proxy", "--allow-sink", HERE) as proxy, server_started(f"{HERE}:0") as server,
          control_relayed(server.address) as relayed):
        done = client_run("--json", f"server={relayed}", f"via={proxy.address}", "workload=proxy", *SHORT)
        assert done.returncode == 1
        assert f"this proxy may not connect to {ELSEWHERE}:" in json.loads(done.stdout)["reason"]


@pytest.mark.parametrize(("listen", "hosts"), [("0.0.0.0:0", [HERE, ELSEWHERE]), ("[::]:0", ["[::1]", HERE, ELSEWHERE])])
@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_a_server_on_all_addresses_is_reached_by_each_of_them(listen: str, hosts: list[str], transport: str) -> None:
    with server_started(listen, "--insecure") as server:
        for host in hosts:
            done = client_run(f"server={host}:{server.ready['port']}", f"transport={transport}", "connections=2", *SHORT)
            assert done.returncode == 0, done.stderr
