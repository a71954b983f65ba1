# SPDX-License-Identifier: MIT
"""uncork-server --serve: what real clients read and write by every strategy, and what clients that
do harm cost others."""

from __future__ import annotations

import os
import random
import re
import resource
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from combinations import names
from control import connect
from programs import (
    SANITIZED,
    SERVER,
    Server,
    batch_run,
    open_files,
    received,
    server_run,
    server_started,
    settled,
)
from served import (
    EXPORT,
    FIRST,
    GO,
    LISTENS,
    MIB,
    REQUEST,
    content,
    greeted,
    needed,
    read_of,
    run,
    said_to,
    uri,
)


def supported(listen: str, path: Path, *words: str) -> bool:
    """Whether a server with these words works on this machine."""
    with subprocess.Popen([SERVER, "--listen", listen.format(path=path), *words],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as tried:
        line = tried.stdout.readline()
        tried.terminate()
        said = tried.communicate(timeout=20)[1]
    assert line or "does not work" in said or "needs" in said or "cannot" in said, said
    return bool(line)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys.psk"
    path.write_text(f"alice:{os.urandom(32).hex()}\n")
    path.chmod(0o600)
    return path


def copied(server: Server, path: Path, keys: Path | None = None) -> bytes:
    """The export as nbdcopy reads it."""
    run(needed("nbdcopy"), uri(server, keys), path / "copy")
    return (path / "copy").read_bytes()


# ---- the export, by every strategy ----

@pytest.mark.parametrize("listen", LISTENS, ids=("tcp", "unix"))
def test_nbdcopy_reads_the_same_content_by_every_strategy(listen: str, tmp_path: Path) -> None:
    ran = 0
    for strategy in names("strategy"):
        words = ("--serve", "nbd", "--size", str(EXPORT), f"reply_write={strategy}")
        if supported(listen, tmp_path, *words):
            ran += 1
            with server_started(listen.format(path=tmp_path), *words) as server:
                assert copied(server, tmp_path) == content(EXPORT), strategy
    assert ran >= 4


@pytest.mark.parametrize("security", ["gnutls", "openssl", "ktls"])
def test_nbdcopy_reads_the_same_content_by_tls(security: str, keys: Path, tmp_path: Path) -> None:
    ran = []
    for strategy in names("strategy"):
        words = ("--serve", "nbd", "--size", str(EXPORT), "--psk", str(keys),
                 f"security={security}", f"reply_write={strategy}")
        if supported(LISTENS[0], tmp_path, *words):
            ran.append(strategy)
            with server_started(LISTENS[0], *words) as server:
                assert copied(server, tmp_path, keys) == content(EXPORT), strategy
    if not ran:
        pytest.skip(f"security={security} works with no strategy on this machine")
    assert {"nodelay", "cork"} <= {*ran}


@pytest.mark.parametrize("engine", names("engine"))
def test_every_engine_serves_many_connections_at_once(engine: str, tmp_path: Path) -> None:
    words = ("--serve", "nbd", "--size", str(EXPORT), f"engine={engine}")
    if not supported(LISTENS[0], tmp_path, *words):
        pytest.skip(f"engine={engine} does not work on this machine")
    with server_started(LISTENS[0], *words) as server:
        ours = [subprocess.Popen([needed("nbdcopy"), uri(server), tmp_path / str(number)])
                for number in range(4)]
        assert [one.wait(120) for one in ours] == [0] * 4
        assert all((tmp_path / str(number)).read_bytes() == content(EXPORT) for number in range(4))


# ---- what real clients ask for ----

@contextmanager
def listened(server: Server) -> Iterator[tuple[int, list[bytearray]]]:
    """A relay before a server: its port, and what each client has said."""
    said: list[bytearray] = []
    threads: list[threading.Thread] = []
    host, _, port = server.address.rpartition(":")

    def pass_on(source: socket.socket, sink: socket.socket, keep: bytearray | None) -> None:
        while data := source.recv(MIB):
            if keep is not None:
                keep += data
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)

    def accept(listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            to = socket.create_connection((host, int(port)))
            said.append(bytearray())
            for ends in ((client, to, said[-1]), (to, client, None)):
                threads.append(threading.Thread(target=pass_on, args=ends))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        acceptor = threading.Thread(target=accept, args=(listener,))
        acceptor.start()
        yield listener.getsockname()[1], said
        listener.shutdown(socket.SHUT_RDWR)
        acceptor.join()
    for thread in threads:
        thread.join()


def reads(said: list[bytearray]) -> list[int]:
    """The bytes that the READs of clients ask for."""
    found = []
    for one in said:
        at = one.find(REQUEST)
        while 0 <= at <= len(one) - 28:
            if int.from_bytes(one[at + 6:at + 8], "big") == 0:
                found.append(int.from_bytes(one[at + 24:at + 28], "big"))
            at += 28
    return found


@pytest.mark.skipif(SANITIZED, reason="the requests are those of the client in every build")
@pytest.mark.parametrize("program, count, size", [("nbdcopy", 1024, 256 << 10),
                                                  ("qemu-img", 128, 2 * MIB)])
def test_a_copy_of_256_mib_is_so_many_reads(program: str, count: int, size: int,
                                            tmp_path: Path) -> None:
    with server_started(LISTENS[0], "--serve", "nbd", "--size", "256M") as server, \
            listened(server) as (port, said):
        url = f"nbd://127.0.0.1:{port}"
        copy = tmp_path / "copy"
        run(needed(program), *(("convert", "-W", "-f", "raw", "-O", "raw") if program == "qemu-img"
                               else ()), url, copy)
    assert reads(said) == [size] * count
    assert copy.read_bytes() == content(256 * MIB)


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    written = tmp_path / "written"
    written.write_bytes(random.Random(22).randbytes(EXPORT))
    with server_started(LISTENS[0], "--serve", "nbd", "--size", str(EXPORT)) as server:
        run(needed("nbdcopy"), written, uri(server))
        assert copied(server, tmp_path) == written.read_bytes()
        half = written.read_bytes()[EXPORT // 2:] * 2
        written.write_bytes(half)
        raw = ("-f", "raw", "-O", "raw")
        run(needed("qemu-img"), "convert", "-n", "-W", *raw, written, uri(server))
        run(needed("qemu-img"), "convert", *raw, uri(server), tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == half
        assert "identical" in run(needed("qemu-img"), "compare", "-f", "raw", "-F", "raw",
                                  written, uri(server))


def test_fio_verifies_what_it_wrote(tmp_path: Path) -> None:
    with server_started(LISTENS[1].format(path=tmp_path), "--serve", "nbd", "engine=poll",
                        "--size", "16M") as server:
        said = run(needed("fio"), "--name=x", "--ioengine=nbd", f"--uri={uri(server)}",
                   "--size=16M", "--rw=randrw", "--bs=4k", "--iodepth=32", "--verify=crc32c",
                   "--verify_fatal=1", cwd=tmp_path)
    assert "err= 0" in said and "verify" not in said.split("err= 0")[0]


def test_wrk_gets_every_page(tmp_path: Path) -> None:
    with server_started(LISTENS[0], "--serve", "http", "reply_write=writev") as server:
        said = run(needed("wrk"), "-t1", "-c8", "-d1s", f"http://{server.address}/4096")
    assert int(re.search(r"(\d+) requests in", said)[1]) > 0
    assert "Socket errors" not in said and "Non-2xx" not in said


@pytest.mark.parametrize("pipelined", ["1", "16"])
def test_redis_benchmark_has_no_error(pipelined: str) -> None:
    with server_started(LISTENS[0], "--serve", "resp", "reply_write=coalesce",
                        "op=get:100") as server:
        said = run(needed("redis-benchmark"), "-p", server.address.rpartition(":")[2], "-n", "2000",
                   "-t", "ping,set,get", "-P", pipelined, "-d", "100", "--csv")
    assert len(re.findall(r'^"(?:PING_INLINE|PING_MBULK|SET|GET)","[1-9]', said, re.MULTILINE)) == 4


# ---- our own client ----

@pytest.mark.parametrize("words", [
    f"protocol={protocol} op={op} depth={depth}" for protocol, op in (
        ("nbd", "read:4K*3+write:64K"), ("nbd-structured", "read:4K"), ("http", "get:4K"),
        ("memcached", "get:100*3+set:100"), ("resp", "get:100+set:4K+ping")) for depth in (1, 16)])
def test_our_own_client_is_a_client_like_others(words: str) -> None:
    protocol = words.split()[0].removeprefix("protocol=")
    with server_started(LISTENS[0], "--serve", protocol, *(
            () if protocol.startswith("nbd") else ("op=get:64K",))) as server:
        (record,) = batch_run([f"{words} peer={server.address} control=none verify=on messages=500 "
                               "warmup=0s connections=2 engine=poll place=free"])
    assert record["status"] == "ok", record["reason"]


# ---- clients that do harm ----

VAST = b"1099511627776"  # 2^40


def resident(server: Server) -> int:
    """Bytes of memory that the server has now."""
    return int(Path(f"/proc/{server.pid}/statm").read_text().split()[1]) * 4096


@pytest.mark.parametrize("asked, complaint", [
    (b"x" * 28, "in place of the magic"),
    (bytes(28), "sent 0x00000000 in place of the magic"),
])
def test_a_client_that_lies_loses_its_connection_and_no_other(asked: bytes, complaint: str) -> None:
    with server_started(LISTENS[0], "--serve", "nbd", "--size", "16M") as server, \
            greeted(server) as good, greeted(server) as bad:
        bad.sendall(asked)
        assert bad.recv(1) == b""
        good.sendall(read_of(0, 4096))
        assert received(good, 16 + 4096)[16:] == content(4096)
        server.process.terminate()
        assert complaint in server.process.communicate(timeout=20)[1]


@pytest.mark.parametrize("engine", ["block", "poll"])
def test_clients_that_never_read_or_are_slow_cost_no_other_anything(engine: str) -> None:
    with server_started(LISTENS[0], "--serve", "nbd", "--size", "64M",
                        f"engine={engine}") as server:
        greeted(server).close()
        files = open_files(server.pid)
        deaf = [greeted(server) for _ in range(3)]
        for client in deaf:
            client.setblocking(False)
            for at in range(2000):  # 8 GiB are asked for
                try:
                    client.send(read_of(at % 16 << 22, 4 * MIB))
                except BlockingIOError:
                    break
        slow = connect(server.address)
        slow.sendall(GO[:5])
        reader = greeted(server)
        reader.sendall(read_of(0, 4 * MIB))
        began = resident(server)
        with greeted(server) as good:
            for second in range(3):
                assert received(reader, 1) == b"\x67\x44\x66"[second:second + 1]
                for _ in range(20):
                    good.sendall(read_of(0, 4096))
                    assert received(good, 16 + 4096)[16:] == content(4096)
                time.sleep(1)
        assert resident(server) - began < (64 if SANITIZED else 16) * MIB
        for client in (*deaf, slow, reader):
            client.close()
        settled(server.pid, files)


@pytest.mark.parametrize("engine", ["block", "poll"])
@pytest.mark.parametrize("protocol, begin, more, complaint", [
    ("http", b"GET /10 HTTP/1.1\r\nX: ", b"a", "a head of more than 4096 bytes"),
    ("resp", b"*%b\r\n" % VAST, b"$1\r\na\r\n", "which is not a request"),
    ("resp", b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%b\r\n" % VAST, b"a", ""),
    ("memcached", b"get ", b"a", "which is not a request"),
    ("memcached", b"set k 0 0 %b\r\n" % VAST, b"a", ""),
    ("memcached", b"set k 0 0 %d\r\n" % (2**64 - 6 * 4096), b"a", ""),
])
def test_a_request_without_an_end_costs_no_memory_and_no_other_client(
        protocol: str, begin: bytes, more: bytes, complaint: str, engine: str) -> None:
    asked, answered = FIRST[protocol]
    with server_started(LISTENS[0], "--serve", protocol, "op=get:10", "--size", "1M",
                        f"engine={engine}") as server:
        files = open_files(server.pid) + 1  # what wakes its loop
        assert said_to(server, asked).endswith(answered)
        began = resident(server)
        with connect(server.address) as endless:
            endless.settimeout(30)
            try:
                endless.sendall(begin)
                time.sleep(0.01)
                for _ in range(16):
                    endless.sendall(more * MIB)
            except ConnectionError:
                assert complaint
            assert said_to(server, asked).endswith(answered)
        assert resident(server) - began < (64 if SANITIZED else 4) * MIB
        settled(server.pid, files)
        server.process.terminate()
        assert complaint in server.process.communicate(timeout=20)[1]


def test_it_ends_at_once_while_clients_are_there(keys: Path) -> None:
    for words in (("--serve", "nbd"), ("--serve", "nbd", "engine=poll"),
                  ("--serve", "nbd", "--psk", str(keys), "security=gnutls")):
        with server_started(LISTENS[0], *words) as server:
            silent = [connect(server.address) for _ in range(8)]
            if "--psk" not in words:
                silent.append(greeted(server))
            time.sleep(0.1)
            assert server.ended() == 0
            for client in silent:
                client.close()


def test_a_key_that_is_none_is_refused(keys: Path, tmp_path: Path) -> None:
    keys.write_text(f"a:{'00' * 32}\nb:{'11' * 32}\n")
    for words, complaint in ((("security=gnutls",), "needs one key of 32 bytes"),
                             ((), "--psk FILE needs security=")):
        done = server_run("--listen", LISTENS[0], "--serve", "nbd", "--psk", str(keys), *words)
        assert done.returncode == 2 and complaint in done.stderr
    keys.write_text(f"alice:{'00' * 32}\n")
    with server_started(LISTENS[0], "--serve", "nbd", "--psk", str(keys),
                        "security=gnutls") as server:
        done = subprocess.run([needed("nbdcopy"), f"nbd://{server.address}", "null:"],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode and "TLS" in done.stderr
        keys.write_text(f"alice:{'22' * 32}\n")
        assert subprocess.run([needed("nbdcopy"), uri(server, keys), "null:"], capture_output=True,
                              timeout=60).returncode


def test_no_more_clients_are_accepted_than_fit_into_the_limit_of_memory() -> None:
    """Each has a copy of a group: 3 times 4 x 32 MiB fit, and no page is touched."""
    with server_started(LISTENS[0], "--serve", "nbd", "reply_write=coalesce", "window=4",
                        "--max-memory", "450M") as server:
        clients = [greeted(server) for _ in range(3)]
        for client in clients:  # it is known before it is answered
            client.sendall(read_of(0, 4096))
            assert received(client, 16 + 4096)[16:] == content(4096)
        with connect(server.address) as one_more:
            one_more.settimeout(30)
            assert one_more.recv(1) == b""
        clients[0].sendall(read_of(0, 4096))
        assert received(clients[0], 16 + 4096)[16:] == content(4096)
        for client in clients:
            client.close()
        server.process.terminate()
        error = server.process.communicate(timeout=20)[1]
        assert "3 clients are connected already, as many as memory is for" in error


@pytest.mark.skipif(SANITIZED, reason="a sanitizer ends a program without memory")
def test_a_server_without_memory_rejects_a_client_and_serves_the_next() -> None:
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    with server_started(LISTENS[0], "--serve", "nbd") as server:
        greeted(server).close()
        resource.prlimit(server.pid, resource.RLIMIT_AS, (1 << 20, unlimited[1]))
        with connect(server.address) as rejected:
            rejected.settimeout(30)
            assert rejected.recv(1) == b""
        resource.prlimit(server.pid, resource.RLIMIT_AS, unlimited)
        greeted(server).close()
        server.process.terminate()
        error = server.process.communicate(timeout=20)[1]
        assert re.search("no room for its stack|no memory|Cannot allocate memory", error), error
