# SPDX-License-Identifier: MIT
"""The server, spoken to by hand: what it accepts, what it refuses, what it survives."""

from __future__ import annotations

import json
import os
import resource
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from control import Channel, connect, data_join, long_value_receive, message_pack, plan_send
from programs import Server, client_json, client_run, cpu_seconds, port_free, server_started

VERSION = client_json("--list=json")[0]["uncork"]
ONE_REQUEST = ["message=4", "reply=2", "messages=1", "warmup=0s", "place=free"]


def works(address: str) -> bool:
    """Whether the server still serves."""
    return client_run(f"server={address}", *ONE_REQUEST).returncode == 0


def test_a_run_can_be_done_by_hand() -> None:
    with server_started() as server:
        channel = Channel(server.address)
        ready = plan_send(channel, VERSION, *ONE_REQUEST)
        data = data_join(ready)
        assert channel.receive()["type"] == "joined"
        assert channel.receive()["type"] == "marked"
        data.sendall(b"ping")
        assert len(data.recv(2, socket.MSG_WAITALL)) == 2
        data.shutdown(socket.SHUT_WR)
        assert data.recv(1) == b""
        report = long_value_receive(channel, "report")
        assert report["threads"][0]["bytes_received"] == 4
        assert report["threads"][0]["messages_sent"] == 1
        assert report["strangers"] == 0


def test_a_warm_up_ends_at_the_announced_byte() -> None:
    with server_started() as server:
        channel = Channel(server.address)
        ready = plan_send(channel, VERSION, "message=4", "reply=2", "messages=1", "warmup=1s",
                          "place=free")
        data = data_join(ready)
        assert channel.receive()["type"] == "joined"
        data.sendall(b"warm")
        data.recv(2, socket.MSG_WAITALL)
        channel.send("drain", end="client", bytes=[8])
        assert channel.receive()["type"] == "draining"
        data.sendall(b"last")
        data.recv(2, socket.MSG_WAITALL)
        assert channel.receive()["type"] == "marked"
        data.sendall(b"runs")
        data.recv(2, socket.MSG_WAITALL)
        data.shutdown(socket.SHUT_WR)
        assert long_value_receive(channel, "report")["threads"][0]["bytes_received"] == 4


def test_strangers_are_dropped_and_counted() -> None:
    with server_started() as server:
        channel = Channel(server.address)
        ready = plan_send(channel, VERSION, "connections=2", "messages=2", "message=4", "reply=2",
                          "warmup=0s", "place=free")
        stranger = data_join(ready, token="00" * 16)
        assert stranger.recv(1) == b"", "a wrong token is dropped"
        beyond = data_join(ready, index=2)
        assert beyond.recv(1) == b"", "a connection that nobody planned is dropped"
        silent = connect(ready["address"])
        silent.sendall(b"half a tok")
        data = [data_join(ready)]
        again = data_join(ready)
        assert again.recv(1) == b"", "a place is taken once"
        data.append(data_join(ready, index=1))
        assert channel.receive()["type"] == "joined"
        assert channel.receive()["type"] == "marked"
        assert silent.recv(1) == b"", "nobody is left at the door while a run is measured"
        with pytest.raises(OSError):
            data_join(ready).recv(1)
        for connection in data:
            connection.sendall(b"ping")
            connection.recv(2, socket.MSG_WAITALL)
            connection.shutdown(socket.SHUT_WR)
        assert long_value_receive(channel, "report")["strangers"] == 3


def test_facts_are_told_once_and_to_nobody_who_runs() -> None:
    with server_started() as server:
        channel = Channel(server.address)
        channel.send("ask", version=VERSION)
        long_value_receive(channel, "facts")
        channel.send("ask", version=VERSION)
        assert channel.receive()["type"] == "refused"
        running = Channel(server.address)
        plan_send(running, VERSION, *ONE_REQUEST)
        running.send("ask", version=VERSION)
        assert running.receive()["type"] == "failed"
        assert works(server.address)


@pytest.mark.parametrize("garbage", [
    b"GET / HTTP/1.1\r\n\r\n", struct.pack(">I", 0), struct.pack(">I", 1 << 30),
    *[struct.pack(">I", len(body)) + body for body in (
        b"[]", b"{{{{", b'{"type":"joined"', b'{"type":"joined"}', b'{"type":"nope"}',
        b'{"type":"plan"}')]])
def test_garbage_ends_its_own_session_only(garbage: bytes) -> None:
    with server_started() as server:
        channel = connect(server.address)
        channel.settimeout(10)
        channel.sendall(garbage)
        while channel.recv(4096):
            pass
        assert works(server.address)


def test_another_version_is_refused_by_name() -> None:
    with server_started() as server:
        answer = plan_send(Channel(server.address), "9.9.9", *ONE_REQUEST)
        assert answer["type"] == "refused"
        assert "9.9.9" in answer["text"] and VERSION in answer["text"]


def test_wrong_words_are_refused_by_the_same_vocabulary() -> None:
    with server_started() as server:
        answer = plan_send(Channel(server.address), VERSION, "mesage=4")
        assert (answer["type"], answer["kind"]) == ("refused", "usage")
        assert "'message'" in answer["text"]


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        (["connections=5000", "engine=block"], "4096 threads"),
        (["connections=9", "chunk=1G", "engine=block"], "8G"),
        (["read=uring-multishot", "chunk=1G"], "8G"),
        (["write=uring-zc", "window=4096", "message=3000x4K", "connections=100", "workload=stream",
          "direction=receive"], "8G"),
        (["connections=9000", "write=coalesce", "workload=stream", "direction=receive",
          "message=1M"], "8G"),
        (["duration=3600s", "warmup=3601s"], "3600s"),
    ],
)
def test_what_is_over_a_limit_is_refused_and_not_tried(words: list[str], limit: str) -> None:
    with server_started() as server:
        answer = plan_send(Channel(server.address), VERSION, *words)
        assert answer["type"] == "refused"
        assert limit in answer["text"]
        assert works(server.address)


def crowd_refused(server: Server, files: int) -> None:
    """Connects to a server that is left three descriptors more than it has open, and gives it
    enough again: meanwhile it must wait and not accept in circles."""
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (files + 3, 4096))
    crowd = [connect(server.address) for _ in range(40)]
    time.sleep(0.3)
    before = cpu_seconds(server.pid)
    time.sleep(0.5)
    assert cpu_seconds(server.pid) - before < 0.2, "it accepts in circles"
    for connection in crowd:
        connection.close()
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (1024, 4096))


def test_a_server_without_descriptors_stays_idle_and_recovers() -> None:
    with server_started() as server:
        files = len(os.listdir(f"/proc/{server.pid}/fd"))
        crowd_refused(server, files)
        for _ in range(50):
            if works(server.address):
                return
        raise AssertionError("it did not recover")


def test_a_client_that_never_joins_is_ended() -> None:
    with server_started() as server:
        channel = Channel(server.address)
        plan_send(channel, VERSION, "connections=2", *ONE_REQUEST[:3])
        answer = channel.receive()
        assert (answer["type"], answer["phase"]) == ("failed", "hello")
        assert answer["text"].startswith("0 of 2 data connections")


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "[::1]:0", "unix:{path}/control"])
@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_a_server_serves_wherever_it_listens(listen: str, transport: str, tmp_path) -> None:
    with server_started(listen.format(path=tmp_path)) as server:
        done = client_run("--json", f"server={server.address}", f"transport={transport}",
                          "verify=on", "message=3x1000", "messages=10")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["status"] == "ok"


def test_facts_of_both_ends_are_told() -> None:
    with server_started() as server:
        (facts,) = client_json("--facts", f"server={server.address}")
        assert facts["client"]["id"] == facts["server"]["id"]
        assert facts["server"]["device"]["name"] == "lo"
        assert facts["server"]["sysctl"]["net.ipv4.tcp_congestion_control"]


def test_reports_after_a_refused_data_connection_are_no_figures() -> None:
    """While the client waits for the reason, every other end reports."""
    figures = {"threads": [{"bytes_sent": 0, "bytes_received": 0}]}
    ready = {"port": port_free(), "path": "", "token": "00" * 16, "key": "00" * 32,
             "handshake": "psk", "host": "a"}

    def play(listener: socket.socket, wait_s: float) -> None:
        connection = listener.accept()[0]
        with connection:
            connection.recv(65536)
            connection.sendall(message_pack("ready", **ready))
            time.sleep(wait_s)
            connection.sendall(message_pack("report", value=figures))
            while connection.recv(65536):
                pass

    with (socket.create_server(("127.0.0.1", 0)) as server,
          socket.create_server(("127.0.0.1", 0)) as proxy, ThreadPoolExecutor(2) as pool):
        played = [pool.submit(play, server, 0.1), pool.submit(play, proxy, 0.15)]
        done = client_run(f"server=127.0.0.1:{server.getsockname()[1]}", "place=free",
                          "duration=10ms", "workload=proxy",
                          f"via=127.0.0.1:{proxy.getsockname()[1]}")
        for one in played:
            one.result()
    assert done.returncode == 1, done
    assert done.stderr.startswith("uncork-client: failed: cannot connect to"), done
