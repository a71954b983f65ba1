# SPDX-License-Identifier: MIT
"""Ends that send valid messages in any order, with any values: the other end neither crashes nor
hangs. A failure names the seed of its session; the seeds are always the same."""

from __future__ import annotations

import random
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from control import Channel, message_pack
from programs import CLIENT, SANITIZED, client_json, client_run, port_free, server_started

VERSION = client_json("--list=json")[0]["uncork"]
HERE = "127.0.0.1"
SEEDS = range(30 if SANITIZED else 100)
AT_ONCE = 6
ENDS = ("client", "server", "proxy", "nobody")
READY = {"path": "", "token": "00" * 16, "key": "00" * 32, "handshake": "psk", "host": "a"}
SHORT = ["place=free", "duration=10ms"]
SHAPES = [shape.split() for shape in (
    "warmup=2ms", "warmup=0s", "warmup=0s workload=stream", "warmup=2ms workload=stream",
    "warmup=2ms workload=stream direction=receive", "warmup=2ms workload=stream direction=both",
    "warmup=0s workload=connect", "warmup=2ms connections=3 engine=poll",
    "warmup=0s workload=proxy", "warmup=2ms workload=proxy",
    "warmup=2ms workload=proxy connections=2 engine=poll",
    "warmup=0s security=gnutls")]


class Messages:
    """Random messages with random values, most of them such as the other end expects."""

    def __init__(self, chance: random.Random, ports: list[int], token: str = "00" * 16) -> None:
        self.chance, self.ports, self.token = chance, ports, token

    def _mostly(self, usual: Any, *others: Any) -> Any:
        return usual if self.chance.random() < 0.8 else self.chance.choice(others)

    def fields(self, type_: str) -> dict[str, Any]:
        pick = self.chance.choice
        problem = {"kind": pick(["failed", "usage", "unsupported"]), "text": "because"}
        report = {"threads": [{"bytes_sent": pick([0, 4, 64]), "bytes_received": pick([0, 4, 64])}]}
        return {
            "plan": {"version": VERSION, "end": pick(ENDS), "host": "a", "words": pick([
                *SHAPES, *SHAPES, [], ["workload=stream", "messages=1"], ["no=word"]])},
            "ask": {"version": self._mostly(VERSION, "0")},
            "ready": {"port": self._mostly(pick(self.ports), 0, -1, 1 << 40),
                      "path": self._mostly("", "/run/none"),
                      "token": self._mostly(self.token, "", "zz"),
                      "key": self._mostly("00" * 32, ""),
                      "handshake": pick(["psk", "certificate", "none"]), "host": "a"},
            "sink": {"address": f"{HERE}:{pick(self.ports)}", "token": self._mostly(self.token, ""),
                     "key": self._mostly("00" * 32, ""), "host": "a"},
            "drain": {"end": pick(ENDS), "bytes": [pick([0, 4, 64, -1, (1 << 63) - 1])
                                                   for _ in range(pick([0, 1, 1, 2, 3]))]},
            "draining": {"end": pick(ENDS)},
            "refused": problem, "failed": problem | {"phase": pick(["run", "connect", ""])},
            "report": {"value": pick([{}, report, {"threads": []}])},
            "facts": {"value": {}},
        }.get(type_, {})

    def first(self) -> bytes:
        """The message that a server sends first, with a valid token and key."""
        return message_pack("ready", **(READY | {
            "port": self.chance.choice(self.ports), "token": self.token}))

    def next(self, types: str) -> bytes:
        """Some messages, which arrive together."""
        chosen = self.chance.choices(types.split(), k=self.chance.choice([1, 1, 2, 3]))
        return b"".join(message_pack(type_, **self.fields(type_)) for type_ in chosen)


def serve_data(listener: socket.socket, chance: random.Random) -> None:
    """Takes data connections, and sends, reads or closes at random."""
    kept = []
    with suppress(OSError):
        while True:
            connection = listener.accept()[0]
            kept.append(connection)
            connection.settimeout(0.05)
            what = chance.random()
            if what < 0.1:
                connection.close()
            elif what < 0.4:
                with suppress(OSError):
                    connection.sendall(chance.randbytes(chance.choice([1, 16, 4096])))
                    connection.recv(65536)
    for connection in kept:
        connection.close()


# ---- a client among hostile ends ----

OF_SERVERS = ("ready joined joined joined marked marked drain drain draining draining report "
              "report report facts failed refused wait ping plan ask sink")


def lie_to_clients(listener: socket.socket, seed: int, data: list[int]) -> None:
    """One control connection after the other, each with a few random messages."""
    chance = random.Random(seed)
    messages = Messages(chance, data)
    with suppress(OSError, EOFError):
        while True:
            connection = listener.accept()[0]
            connection.settimeout(2)
            with connection, suppress(OSError):
                connection.recv(65536)  # the plan, or the question for facts
                if chance.random() < 0.9:
                    connection.sendall(messages.first())
                for _ in range(chance.randrange(6)):
                    time.sleep(chance.choice([0, 0, 0.001, 0.02]))
                    connection.sendall(messages.next(OF_SERVERS))
                time.sleep(chance.choice([0, 0.01, 0.1]))


def run_among_liars(seed: int) -> subprocess.CompletedProcess[str]:
    chance = random.Random(seed)
    with (socket.create_server((HERE, 0)) as server, socket.create_server((HERE, 0)) as proxy,
          socket.create_server((HERE, 0)) as data):
        ports = [data.getsockname()[1], port_free()]
        threads = [
            threading.Thread(target=lie_to_clients, args=(server, seed + 1000, ports)),
            threading.Thread(target=lie_to_clients, args=(proxy, seed + 2000, ports)),
            threading.Thread(target=serve_data, args=(data, random.Random(seed + 3000)))]
        for thread in threads:
            thread.start()
        shape = chance.choice(SHAPES)
        via = f"via={HERE}:{proxy.getsockname()[1]}"
        words = [f"server={HERE}:{server.getsockname()[1]}", *SHORT, *shape,
                 *[via] * ("workload=proxy" in shape)]
        done = subprocess.run([CLIENT, "--facts" if seed % 10 == 0 else "--json", *words],
                              capture_output=True, text=True, timeout=60)
        for listener in (server, proxy, data):
            listener.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
    return done


def each_seed(work: Callable[[int], None]) -> None:
    """Sessions of all seeds, some at a time."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in [pool.submit(work, seed) for seed in SEEDS]:
            done.result()


def test_a_client_among_hostile_ends_ends_with_a_reason() -> None:
    def check(seed: int) -> None:
        done = run_among_liars(seed)
        assert done.returncode in (0, 1, 2), (seed, done)
        lines = done.stderr.splitlines()
        assert all(line.startswith("uncork-client: ") for line in lines), (seed, done)
        assert lines or done.returncode == 0, (seed, done)

    each_seed(check)


def test_reports_after_a_refused_data_connection_are_no_figures() -> None:
    """While the client waits for the reason, every other end reports."""
    figures = {"threads": [{"bytes_sent": 0, "bytes_received": 0}]}
    ready = READY | {"port": port_free()}

    def play(listener: socket.socket, wait_s: float) -> None:
        connection = listener.accept()[0]
        with connection:
            connection.recv(65536)
            connection.sendall(message_pack("ready", **ready))
            time.sleep(wait_s)
            connection.sendall(message_pack("report", value=figures))
            while connection.recv(65536):
                pass

    with (socket.create_server((HERE, 0)) as server, socket.create_server((HERE, 0)) as proxy,
          ThreadPoolExecutor(2) as pool):
        played = [pool.submit(play, server, 0.1), pool.submit(play, proxy, 0.15)]
        done = client_run(f"server={HERE}:{server.getsockname()[1]}", *SHORT, "workload=proxy",
                          f"via={HERE}:{proxy.getsockname()[1]}")
        for one in played:
            one.result()
    assert done.returncode == 1, done
    assert done.stderr.startswith("uncork-client: failed: cannot connect to"), done


# ---- a server and a proxy with hostile clients ----

OF_CLIENTS = ("sink drain draining draining marked marked joined failed plan ask ready report "
              "facts refused wait ping")


def receive_ready(channel: Channel) -> dict[str, Any]:
    """The ready message of a server, {} where something else comes first, or nothing."""
    with suppress(OSError, EOFError):
        while (message := channel.receive())["type"] == "wait":
            pass
        return message if message["type"] == "ready" else {}
    return {}


def lie_to_server(address: str, end: str, data: int, seed: int) -> None:
    """A session with a few random messages, and data connections that show the token or not."""
    chance = random.Random(seed)
    channel = Channel(address)
    channel.socket.settimeout(0.5)
    words = chance.choice(SHAPES if end == "server" else [
        shape for shape in SHAPES if "workload=proxy" in shape])
    kept = []
    with suppress(OSError):
        if chance.random() < 0.9:
            channel.send("plan", version=VERSION, end=end, host="a", words=[*SHORT, *words])
        ready = receive_ready(channel)
        messages = Messages(chance, [data, ready.get("port", data)], **{
            key: value for key, value in ready.items() if key == "token"})
        for number in range(chance.randrange(4) if ready else 0):
            kept.append(socket.create_connection((HERE, ready["port"]), timeout=0.5))
            kept[-1].sendall(bytes.fromhex(ready["token"]) + struct.pack(">I", number))
        if end == "proxy" and chance.random() < 0.8:
            channel.socket.sendall(message_pack("sink", **messages.fields("sink")))
        for _ in range(chance.randrange(6)):
            time.sleep(chance.choice([0, 0, 0.001, 0.02]))
            channel.socket.sendall(messages.next(OF_CLIENTS))
            for connection in kept[:chance.randrange(3)]:
                connection.sendall(chance.randbytes(chance.choice([1, 64, 4096])))
    for connection in kept:
        connection.close()
    channel.close()


@pytest.mark.parametrize("end", ["server", "proxy"])
def test_a_server_with_hostile_clients_serves_on(end: str) -> None:
    flags = ["--proxy"] * (end == "proxy")
    with (socket.create_server((HERE, 0)) as data, server_started(f"{HERE}:0", *flags) as server,
          server_started() as honest):
        taker = threading.Thread(target=serve_data, args=(data, random.Random(0)))
        taker.start()
        port = data.getsockname()[1]
        each_seed(lambda seed: lie_to_server(server.address, end, port, seed))
        data.shutdown(socket.SHUT_RDWR)
        taker.join()
        assert server.process.poll() is None
        place = [f"server={server.address}"] if end == "server" else [
            f"server={honest.address}", f"via={server.address}", "workload=proxy"]
        done = client_run("--json", *place, *SHORT)
        assert done.returncode == 0, done
