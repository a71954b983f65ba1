# SPDX-License-Identifier: MIT
"""uncork-server --plain: what clients that know nothing of uncork get from it."""

from __future__ import annotations

import json
import os
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from control import connect
from foreign import foreign_names, foreign_started
from programs import (
    LOOP_CHANGES,
    SERVER,
    Server,
    client_run,
    cpu_seconds,
    open_files,
    port_free,
    received,
    server_started,
    settled,
    strace_trouble,
)
from test_control import crowd_refused

SERVICES = ("echo", "discard", "chargen")
LISTEN = ("127.0.0.1:0", "[::1]:0", "unix:{path}/plain")
DATA = random.Random(864).randbytes(1_000_003)  # of no length that a buffer has
TWICE = DATA + DATA
FLOOD = 256 << 20  # bytes that no connection may take without giving any back


def plain_started(service: str, listen: str = "127.0.0.1:0", *flags: str):
    return server_started(listen, "--plain", service, *flags)


def patient(address: str) -> socket.socket:
    """A connection that waits for as long as a sanitizer on a busy machine may take."""
    connection = connect(address)
    connection.settimeout(30)
    return connection


@contextmanager
def service_started(name: str) -> Iterator[str]:
    """The address of a service: ours by the name of the service, or a foreign one."""
    if name in SERVICES:
        with plain_started(name) as server:
            yield server.address
    else:
        with foreign_started(name) as port:
            yield f"127.0.0.1:{port}"


def everything(connection: socket.socket) -> bytes:
    """What comes until the other end ends it."""
    parts = []
    while part := connection.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def reset(connection: socket.socket) -> None:
    """Closes by RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def settled_files(server: Server) -> int:
    """How many descriptors a server has that has served somebody."""
    with patient(server.address) as connection:
        connection.sendall(b"x")
        connection.shutdown(socket.SHUT_WR)
        everything(connection)
    return open_files(server.pid)


def echoes(address: str) -> bool:
    with patient(address) as connection:
        connection.sendall(b"are you there?")
        return received(connection, 14) == b"are you there?"


def lines_of_rfc_864() -> bytes:
    """One round of the pattern, written from the text of the RFC."""
    printing = bytes(range(32, 127))
    ring = printing + printing
    return b"".join(ring[first : first + 72] + b"\r\n" for first in range(95))


# ---- what each service does ----


def half_send(connection: socket.socket, data: bytes) -> None:
    """Sends data and half-closes."""
    connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("name", ["echo", *foreign_names("echo")])
def test_what_was_sent_before_a_half_close_comes_back_and_then_the_end(name: str) -> None:
    with service_started(name) as address:
        for size in (0, 1, 64 << 10, len(DATA)):
            with patient(address) as connection:
                sender = threading.Thread(target=half_send, args=(connection, DATA[:size]))
                sender.start()
                assert everything(connection) == DATA[:size]
                sender.join()


@pytest.mark.parametrize("name", ["discard", *foreign_names("discard")])
def test_discard_takes_everything_says_nothing_and_ends_with_the_client(name: str) -> None:
    with service_started(name) as address, patient(address) as connection:
        for _ in range(8):
            connection.sendall(DATA)
        assert not select.select([connection], [], [], 0.1)[0]
        connection.shutdown(socket.SHUT_WR)
        assert everything(connection) == b""


@pytest.mark.parametrize("name", foreign_names("chargen"))
def test_foreign_chargen_sends_until_the_client_goes(name: str) -> None:
    with service_started(name) as address, patient(address) as connection:
        assert len(received(connection, 1 << 20)) == 1 << 20


@pytest.mark.parametrize("listen", LISTEN)
def test_chargen_sends_the_lines_of_rfc_864_whatever_comes(listen: str, tmp_path: Path) -> None:
    expected = lines_of_rfc_864() * 1000
    with plain_started("chargen",
                       listen.format(path=tmp_path)) as server, patient(
                           server.address) as connection:
        got = b""
        sizes = random.Random(1)
        while len(got) < 6 << 20:
            connection.sendall(DATA[: sizes.randrange(1000)])
            got += received(connection, sizes.randrange(1, 300_000))
        assert got == expected[: len(got)]
        connection.shutdown(socket.SHUT_WR)
        rest = everything(connection)
        assert not rest.strip(bytes(range(32, 127)) +
                              b"\r\n"), "after the half-close only what was under way comes"


@pytest.mark.parametrize("listen", LISTEN)
def test_echo_holds_back_a_client_that_does_not_read_and_loses_nothing(
    listen: str, tmp_path: Path
) -> None:
    sizes = random.Random(2)
    with plain_started("echo",
                       listen.format(path=tmp_path)) as server, patient(
                           server.address) as connection:
        sent = 0
        connection.setblocking(False)
        while select.select([], [connection], [], 0.5)[1]:
            start = sent % len(DATA)
            size = sizes.choice((1, 2, 3, 1000, (64 << 10) - 1, 64 << 10, (64 << 10) + 1, 300_000))
            sent += connection.send(DATA[start : start + size])
            assert sent < FLOOD, "it reads from a client that does not"
        before = cpu_seconds(server.pid)
        time.sleep(0.5)
        assert cpu_seconds(server.pid) - before < 0.2, "it runs in circles while it cannot send"
        connection.settimeout(30)
        connection.shutdown(socket.SHUT_WR)
        taken = 0
        while part := connection.recv(sizes.choice((1, 999, 4096, 100_000, 500_000))):
            start = taken % len(DATA)
            assert part == TWICE[start : start + len(part)]
            taken += len(part)
        assert taken == sent > 64 << 10


@pytest.mark.parametrize("listen", LISTEN)
def test_200_clients_are_served_at_once(listen: str, tmp_path: Path) -> None:
    with plain_started("echo", listen.format(path=tmp_path)) as server:
        crowd = [patient(server.address) for _ in range(200)]
        for turn in range(5):
            for number, connection in enumerate(crowd):
                connection.sendall(struct.pack(">II", turn, number) * 500)
            for number, connection in reversed(list(enumerate(crowd))):
                assert received(connection, 4000) == struct.pack(">II", turn, number) * 500
        for connection in crowd:
            connection.close()


def test_a_client_that_does_not_read_keeps_nobody_waiting() -> None:
    with (
        plain_started("chargen") as server,
        patient(server.address) as silent,
        patient(server.address) as other,
    ):
        assert len(received(other, 8 << 20)) == 8 << 20
        assert len(received(silent, 1000)) == 1000


# ---- what it survives ----


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("leave", [reset, socket.socket.close])
def test_a_client_that_leaves_in_the_middle_is_no_error(service: str, leave) -> None:
    with plain_started(service) as server:
        files = settled_files(server)
        for sends in (0, 1, 1000):  # so many that neither end can send any more
            connection = patient(server.address)
            connection.settimeout(0.2)
            with suppress(TimeoutError):
                for _ in range(sends):
                    connection.sendall(DATA[:100_000])
            leave(connection)
        settled(server.pid, files)
        last = patient(server.address)
        if service == "echo":
            last.close()
            assert echoes(server.address)
        elif service == "discard":
            last.sendall(DATA)
            last.shutdown(socket.SHUT_WR)
            assert everything(last) == b""
        else:
            assert received(last, 74) == lines_of_rfc_864()[:74]
        server.process.terminate()
        assert server.process.wait(10) == 0
        assert server.process.stderr and server.process.stderr.read() == ""


@pytest.mark.parametrize("service", SERVICES)
def test_whatever_a_crowd_of_clients_does_the_server_serves_on(service: str) -> None:
    dice = random.Random(f"a crowd at {service}")
    with plain_started(service) as server:
        files = settled_files(server)
        crowd: list[socket.socket] = []
        for _ in range(4000):
            if not crowd or (len(crowd) < 60 and dice.random() < 0.1):
                crowd.append(patient(server.address))
                crowd[-1].setblocking(False)
            at = dice.randrange(len(crowd))
            what = dice.random()
            try:
                if what < 0.5:
                    crowd[at].send(DATA[: int(10 ** (6 * dice.random()))])
                elif what < 0.9:
                    crowd[at].recv(int(10 ** (6 * dice.random())))
                elif what < 0.94:
                    crowd[at].shutdown(dice.choice((socket.SHUT_RD, socket.SHUT_WR,
                                                    socket.SHUT_RDWR)))
                else:
                    dice.choice((reset, socket.socket.close))(crowd.pop(at))
            except BlockingIOError:
                pass
            except OSError:  # it has half-closed before, or the server has ended this connection
                crowd.pop(at).close()
        for connection in crowd:
            connection.close()
        settled(server.pid, files)
        with patient(server.address) as connection:
            connection.sendall(b"x")
            connection.shutdown(socket.SHUT_WR)
            everything(connection)


def test_without_descriptors_it_stays_idle_and_recovers() -> None:
    with plain_started("echo") as server:
        files = settled_files(server)
        crowd_refused(server, files)
        settled(server.pid, files)
        assert echoes(server.address)


def test_an_uncork_client_that_comes_by_mistake_is_told_at_once() -> None:
    with plain_started("echo") as server:
        done = client_run(f"server={server.address}", "messages=1", "warmup=0s", within_s=20)
        assert done.returncode == 1 and done.stderr.count("\n") == 1
        assert echoes(server.address)


# ---- how it begins and ends ----


@pytest.mark.parametrize("service", SERVICES)
def test_the_ready_line_is_the_servers_and_names_the_service(service: str) -> None:
    with plain_started(service) as server, server_started() as other:
        assert server.ready == other.ready | {"port": server.ready["port"], "plain": service}


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_every_connection(service: str, number: signal.Signals,
                                               tmp_path: Path) -> None:
    with plain_started(service, f"unix:{tmp_path}/plain") as server:
        crowd = [patient(server.address) for _ in range(5)]
        crowd[0].sendall(DATA[:1000])
        server.process.send_signal(number)
        assert server.process.wait(10) == 0
        for connection in crowd[1:]:
            everything(connection)
        assert not (tmp_path / "plain").exists()


def test_with_parent_it_ends_when_its_standard_input_does() -> None:
    command = [str(SERVER), "--listen", "127.0.0.1:0", "--plain", "echo", "--with-parent"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin and process.stdout
    ready = json.loads(process.stdout.readline())["ready"]
    assert echoes(f"127.0.0.1:{ready['port']}")
    process.stdin.close()
    assert process.wait(10) == 0


def test_a_port_that_was_asked_for_can_be_taken_again_at_once() -> None:
    address = f"127.0.0.1:{port_free()}"
    with plain_started("echo", address):
        client = patient(address)
        assert echoes(address)
    # it closed first: the system remembers its side of the connection
    assert everything(client) == b""
    client.close()
    with plain_started("echo", address):
        assert echoes(address)


def test_other_machines_are_served_only_where_that_was_said() -> None:
    with plain_started("echo", "0.0.0.0:0", "--insecure") as server:
        assert echoes(f"127.0.0.1:{server.ready['port']}")
        server.process.terminate()
        server.process.wait(10)
        assert server.process.stderr and "warning" in server.process.stderr.read()


# ---- what it costs ----


@pytest.mark.skipif(strace_trouble() is not None, reason=str(strace_trouble()))
def test_a_request_is_one_receive_one_send_and_no_change_of_what_is_waited_for(
        tmp_path: Path) -> None:
    requests, log = 100, tmp_path / "log"
    watched = f"trace=recvfrom,sendto,setsockopt,{LOOP_CHANGES}"
    process = subprocess.Popen(
        ["strace", "-f", "-o", str(log), "-e", watched]
        + [str(SERVER), "--listen", "127.0.0.1:0", "--plain", "echo", "--with-parent"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # it cannot look for leaks while it is traced
        env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"},
    )
    assert process.stdin and process.stdout
    ready = json.loads(process.stdout.readline())["ready"]
    with patient(f"127.0.0.1:{ready['port']}") as connection:
        for _ in range(requests):
            time.sleep(0.002)  # or a receive too many would find the next request
            connection.sendall(b"x" * 100)
            received(connection, 100)
        connection.shutdown(socket.SHUT_WR)
        everything(connection)
    process.stdin.close()
    assert process.wait(20) == 0
    calls = re.findall(r"^\d+ +(\w+)\((.*)$", log.read_text(), re.MULTILINE)
    assert sum(name == "sendto" for name, _ in calls) == requests
    # one when it arrives may find nothing, one finds the end
    assert requests < sum(name == "recvfrom" for name, _ in calls) <= requests + 2
    assert sum(name in LOOP_CHANGES.split(",") for name, _ in calls) < 20
    options = [told for name, told in calls if name == "setsockopt"]
    assert any("TCP_NODELAY, [1]" in told for told in options)
    assert any('TCP_CONGESTION, "cubic"' in told
               for told in options), "or a pacer is measured as the socket"


# ---- clients of others ----


@pytest.mark.parametrize("listen", LISTEN)
def test_socat_gets_back_what_it_sent(listen: str, tmp_path: Path) -> None:
    if not shutil.which("socat"):
        pytest.skip("socat is not installed")
    with plain_started("echo", listen.format(path=tmp_path)) as server:
        to = f"TCP:{server.address}"
        if server.address.startswith("unix:"):
            to = server.address.replace("unix:", "UNIX-CONNECT:")
        done = subprocess.run(["socat", "-t", "60", "-", to], input=DATA * 5, capture_output=True,
                              timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout == DATA * 5


@pytest.mark.parametrize("service", SERVICES)
def test_netcat_gets_what_each_service_gives(service: str) -> None:
    netcat = shutil.which("nc.openbsd") or shutil.which("nc")
    if not netcat:
        pytest.skip("netcat is not installed")
    if "-N" not in subprocess.run([netcat, "-h"], capture_output=True, text=True,
                                  timeout=10).stderr:
        pytest.skip("this netcat has no -N, which half-closes at the end of its input")
    with plain_started(service) as server:
        host, port = server.address.split(":")
        done = subprocess.run([netcat, "-N", host, port], input=DATA * 5, capture_output=True,
                              timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")
        if service == "chargen":
            assert done.stdout.startswith(lines_of_rfc_864())
        else:
            assert done.stdout == (DATA * 5 if service == "echo" else b"")


NETPERF = shutil.which("netperf")


@pytest.mark.skipif(not NETPERF, reason="netperf is not installed (Debian has it in non-free)")
@pytest.mark.parametrize(
    ("service", "test", "sizes"),
    [
        ("echo", "TCP_RR", ["-r", "1,1"]),  # what echo gives back is as long as what it got
        ("echo", "TCP_RR", ["-r", "10000,10000"]),
        ("echo", "TCP_CRR", ["-r", "64,64"]),
        ("discard", "TCP_STREAM", ["-m", "65536"]),
        ("chargen", "TCP_MAERTS", []),
    ],
)
def test_netperf_without_a_control_connection_measures_it(service: str, test: str,
                                                          sizes: list[str]) -> None:
    with plain_started(service) as server:
        host, port = server.address.split(":")
        command = [str(NETPERF), "-N", "-P", "0", "-H", f"{host},4", "-t", test, "-l", "1"]
        done = subprocess.run([*command, "--", "-P", f",{port}", *sizes, "-o", "THROUGHPUT"],
                              capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stdout + done.stderr
        assert float(done.stdout.split()[-1]) > 0
