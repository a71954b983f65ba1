# SPDX-License-Identifier: MIT
"""uncork-server --serve: real clients, whose requests it answers as the words say."""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
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
    pattern,
    received,
    server_run,
    server_started,
    settled,
)

MIB = 1 << 20
EXPORT = (4 if SANITIZED else 32) * MIB
REQUEST = b"\x25\x60\x95\x13"
LISTENS = ("127.0.0.1:0", "unix:{path}/socket")
CONTENT = pattern()
VERSION = b"1.6.0-uncork"  # memcached: clients parse it


def needed(program: str) -> str:
    """The path of a real client; the test is skipped without it."""
    path = shutil.which(program)
    if not path:
        pytest.skip(f"{program} is not installed")
    return path


def content(size: int) -> bytes:
    return (CONTENT * (size // len(CONTENT) + 1))[:size]


def run(*arguments: str | Path, **options) -> str:
    """What a client says on both outputs; it must end well."""
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True,
                          timeout=120, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def uri(server: Server, keys: Path | None = None) -> str:
    if server.address.startswith("unix:"):
        return f"nbd+unix:///?socket={server.address.removeprefix('unix:')}"
    if not keys:
        return f"nbd://{server.address}"
    return f"nbds://alice@{server.address}/?tls-psk-file={keys}"


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


# ---- HTTP, as the specification says ----

TEN = CONTENT[:10]
LINES = b"HTTP/1.1 %b\r\n"
OK = LINES % b"200 OK\r\nContent-Type: application/octet-stream"
EMPTY = b"Content-Length: 0\r\n\r\n"
CLOSE, HOST = b"Connection: close\r\n", b" HTTP/1.1\r\nHost: a\r\n"
FULL = OK + b"Content-Length: 10\r\n\r\n" + TEN
BAD = LINES % b"400 Bad Request" + CLOSE + EMPTY
NO_METHOD = LINES % b"405 Method Not Allowed\r\nAllow: GET, HEAD"
AFTER = b"GET /10" + HOST + b"\r\n"
HTTP = {
    "head": (b"HEAD /10" + HOST + b"\r\n", OK + b"Content-Length: 10\r\n\r\n" + FULL),
    "head of no page": (b"HEAD /5000" + HOST + b"\r\n", LINES % b"404 Not Found" + EMPTY + FULL),
    "a page too large": (b"GET /5000" + HOST + b"\r\n", LINES % b"404 Not Found" + EMPTY + FULL),
    "absolute": (b"GET http://a:80/10" + HOST + b"\r\n", FULL * 2),
    "an empty line first": (b"\r\nGET /10" + HOST + b"\r\n", FULL * 2),
    "a later minor": (b"GET /10 HTTP/1.2\r\nHost: a\r\n\r\n", FULL * 2),
    "post": (b"POST /" + HOST + b"Content-Length: 9\r\n\r\nGET /1 HT", NO_METHOD + EMPTY + FULL),
    "delete": (b"DELETE /10" + HOST + b"\r\n", NO_METHOD + EMPTY + FULL),
    "options": (b"OPTIONS *" + HOST + b"\r\n", NO_METHOD + EMPTY + FULL),
    "unknown": (b"FROB /" + HOST + b"content-length: 2\r\n\r\nxx",
                LINES % b"501 Not Implemented" + EMPTY + FULL),
    "lower case": (b"get /10" + HOST + b"\r\n", LINES % b"501 Not Implemented" + EMPTY + FULL),
    "chunked": (b"POST /" + HOST + b"Transfer-Encoding: chunked\r\n\r\n2\r\nxx\r\n0\r\n\r\n",
                NO_METHOD + CLOSE + EMPTY),
    "expects": (b"PUT /" + HOST + b"Content-Length: 99\r\nExpect: 100-continue\r\n\r\n",
                NO_METHOD + CLOSE + EMPTY),
    "close": (b"GET /10" + HOST + b"Connection: x, Close\r\n\r\n",
              OK + CLOSE + b"Content-Length: 10\r\n\r\n" + TEN),
    "1.0": (b"GET /10 HTTP/1.0\r\n\r\n", OK + CLOSE + b"Content-Length: 10\r\n\r\n" + TEN),
    "1.0 stays": (b"GET /10 HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
                  OK + b"Connection: keep-alive\r\nContent-Length: 10\r\n\r\n" + TEN + FULL),
    "no host": (b"GET /10 HTTP/1.1\r\n\r\n", BAD),
    "two hosts": (b"GET /10" + HOST + b"Host: b\r\n\r\n", BAD),
    "0.9": (b"GET /10\r\n", BAD),
    "2.0": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            LINES % b"505 HTTP Version Not Supported" + CLOSE + EMPTY),
    "no word": (b"\x16\x03\x01\0\n", BAD),
    "spaces": (b"GET  /10" + HOST + b"\r\n", BAD),
    "bare LF": (b"GET /10 HTTP/1.1\nHost: a\n\n", BAD),
    "bare LF in a field": (b"GET /10" + HOST + b"X: a\nY: b\r\n\r\n", BAD),
    "a space before the colon": (b"GET /10" + HOST + b"Content-Length : 3\r\n\r\n", BAD),
    "a folded field": (b"GET /10" + HOST + b" x: y\r\n\r\n", BAD),
    "two lengths": (b"POST /" + HOST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", BAD),
    "a negative length": (b"POST /" + HOST + b"Content-Length: -1\r\n\r\n", BAD),
    "both": (b"POST /" + HOST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", BAD),
    "get with content": (b"GET /10" + HOST + b"Content-Length: 1\r\n\r\nx", BAD),
    "a long head": (b"GET /10" + HOST + b"X: %b\r\n\r\n" % (b"y" * 9000),
                    LINES % b"431 Request Header Fields Too Large" + CLOSE + EMPTY),
    "a long line": (b"GET /" + b"1" * 9000,
                    LINES % b"431 Request Header Fields Too Large" + CLOSE + EMPTY),
}


def answers(protocol: str, cases: dict[str, tuple[bytes, bytes]], after: bytes) -> None:
    """A server must answer each case, followed by another request, in pieces of any size."""
    with server_started(LISTENS[0], "--serve", protocol, "op=get:10", "--size", "4K") as server:
        for name, (asked, answered) in cases.items():
            for pieces in (1, 2, 1000):
                asks = asked + after
                step = max(1, len(asks) // pieces)
                parts = [asks[at:at + step] for at in range(0, len(asks), step)]
                assert said_to(server, *parts, pause=0) == answered, f"{name} in {pieces} pieces"


def test_http_is_answered_as_the_specification_says() -> None:
    answers("http", HTTP, AFTER)


def test_a_last_reply_reaches_a_client_that_still_sends() -> None:
    with server_started(LISTENS[0], "--serve", "http",
                        "op=get:10") as server, connect(server.address) as client:
        client.settimeout(30)
        client.sendall(b"POST /" + HOST + b"Transfer-Encoding: chunked\r\n\r\n" + bytes(MIB))
        assert b"".join(iter(lambda: client.recv(MIB), b"")) == NO_METHOD + CLOSE + EMPTY
        client.sendall(bytes(MIB))


@pytest.mark.parametrize("size, status", [("10", "200"), ("5000", "404")])
def test_curl_gets_the_head_the_page_and_the_status(size: str, status: str) -> None:
    with server_started(LISTENS[0], "--serve", "http", "op=get:10") as server:
        url = f"http://{server.address}/{size}"
        for options, code in (((), status), (("-I",), status), (("-0",), status),
                              (("-H", "Connection: close"), status), (("-d", "x"), "405"),
                              (("-d", "x", "-H", "Transfer-Encoding: chunked"), "405"),
                              (("-X", "FROB"), "501"), (("-H", "Host:"), "400")):
            said = run(needed("curl"), "-s", *("-o", "/dev/null") * 2, "-w", "%{http_code} ",
                       *options, url, url)
            assert said.split() == [code] * 2, options


# ---- text, byte by byte ----

def said_to(server: Server, *messages: bytes, pause: float = 0.01) -> bytes:
    """What a server answers until it closes the connection, or this end has half-closed it."""
    with connect(server.address) as client:
        client.settimeout(30)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for message in messages:
            client.sendall(message)
            time.sleep(pause)
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(MIB), b""))


@pytest.mark.parametrize("protocol, asked, answered", [
    ("memcached", b"set a 0 0 3\r\nabc\r\nget a\r\nnonsense\r\nversion\r\n",
     b"STORED\r\nVALUE a 0 10\r\n%b\r\nEND\r\nERROR\r\nVERSION %b\r\n" % (TEN, VERSION)),
    ("memcached", b"get k%b\r\nquit\r\n" % (b"e" * 249),
     b"VALUE k%b 0 10\r\n%b\r\nEND\r\n" % (b"e" * 249, TEN)),
    ("resp", b"*2\r\n$3\r\nget\r\n$1\r\nk\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\nab\r\nPING\r\n",
     b"$10\r\n%b\r\n+OK\r\n+PONG\r\n" % TEN),
    ("resp", b"*3\r\n$6\r\nCONFIG\r\n$3\r\nGET\r\n$4\r\nsave\r\n*2\r\n$4\r\nFROB\r\n$1\r\nx\r\n",
     b"*0\r\n-ERR unknown command\r\n"),
    ("http", b"GET /10 HTTP/1.1\r\nHost: a\r\n\r\nGET /none HTTP/1.1\r\nHost: a\r\n\r\n",
     b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 10\r\n\r\n%b"
     b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n" % TEN),
])
@pytest.mark.parametrize("pieces", [1, 2, 1000])
def test_commands_of_others_are_answered_in_pieces_of_any_size(
        protocol: str, asked: bytes, answered: bytes, pieces: int) -> None:
    step = max(1, len(asked) // pieces)
    with server_started(LISTENS[0], "--serve", protocol, "op=get:10") as server:
        parts = [asked[at:at + step] for at in range(0, len(asked), step)]
        assert said_to(server, *parts) == answered


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


VAST = b"1099511627776"  # 2^40
FIRST = {"http": (b"GET /10 HTTP/1.1\r\nHost: a\r\n\r\n", b"\r\n\r\n" + TEN),
         "memcached": (b"get a\r\n", b"VALUE a 0 10\r\n%b\r\nEND\r\n" % TEN),
         "resp": (b"*2\r\n$3\r\nGET\r\n$1\r\na\r\n", b"$10\r\n%b\r\n" % TEN)}
MEMCACHED = {
    "too large": (b"set k 0 0 4097\r\n%b\r\n" % bytes(4097),
                  b"SERVER_ERROR object too large for cache\r\n"),
    "nothing": (b"set k 0 0 0\r\n\r\n", b"STORED\r\n"),
    "no number": (b"set k 0 0 x\r\n", b"CLIENT_ERROR bad command line format\r\n"),
    "a negative length": (b"set k 0 0 -1\r\n", b"CLIENT_ERROR bad command line format\r\n"),
    "a time in the past": (b"set k 0 -1 1\r\nx\r\n", b"STORED\r\n"),
    "too few words": (b"set k 0 0\r\n", b"ERROR\r\n"),
    "a long key": (b"set %b 0 0 1\r\n" % (b"k" * 251),
                   b"CLIENT_ERROR bad command line format\r\n"),
    "other commands of values": (
        b"replace k 0 0 1\r\nx\r\nadd k 0 0 1\r\nx\r\ncas k 0 0 1 7\r\nx\r\n",
        b"STORED\r\nNOT_STORED\r\nSTORED\r\n"),
    "no reply": (b"set k 0 0 1 noreply\r\nx\r\nset k 0 0 4097 noreply\r\n%b\r\n"
                 b"flush_all noreply\r\n" % bytes(4097), b""),
    "at the start": (b"version\r\nverbosity 1\r\nflush_all\r\nflush_all 1\r\nstats\r\n",
                     b"VERSION %b\r\nOK\r\nOK\r\nOK\r\nEND\r\n" % VERSION),
    "other": (b"delete k\r\ntouch k 1\r\n", b"DELETED\r\nTOUCHED\r\n"),
    "unknown": (b"get\r\n\r\nfrob k\r\nverbosity\r\nincr k 1\r\n", b"ERROR\r\n" * 5),
    "a bare LF": (b"version\n", b"VERSION %b\r\n" % VERSION),
    "two keys": (b"get a  b \r\n", b"VALUE a 0 10\r\n%b\r\nVALUE b 0 10\r\n%b\r\nEND\r\n"
                 % (TEN, TEN)),
    "many keys": (b"gets%b\r\n" % (b" a" * 400),
                  b"VALUE a 0 10 1\r\n%b\r\n" % TEN * 400 + b"END\r\n"),
}
MEMCACHED_LAST = {
    "bad data": (b"set k 0 0 1\r\nxyz\r\n", b"CLIENT_ERROR bad data chunk\r\n"),
    "a long line": (b"frob %b\r\n" % bytes(5000), b"CLIENT_ERROR line too long\r\n"),
    "a long key": (b"get a %b\r\n" % (b"k" * 251),
                   b"VALUE a 0 10\r\n%b\r\nCLIENT_ERROR line too long\r\n" % TEN),
    "quit": (b"quit\r\n", b""),
}


def command_of(*strings: bytes) -> bytes:
    return b"*%d\r\n" % len(strings) + b"".join(
        b"$%d\r\n%b\r\n" % (len(one), one) for one in strings)


LONG = b"x" * 5000
RESP = {
    "ping": (command_of(b"PING") + command_of(b"ping", b"ab") + b"PING\r\nPING ab\n",
             b"+PONG\r\n$2\r\nab\r\n" * 2),
    "unknown": (command_of(b"FROB") + command_of(b"FROB", LONG, b"x")
                + command_of(b"DEL", *[b"k"] * 40) + b"frob\r\n", b"-ERR unknown command\r\n" * 4),
    "too few": (command_of(b"GET") + command_of(b"SET", b"k") + command_of(b"GET", b"a", b"b"),
                b"-ERR wrong number of arguments\r\n" * 3),
    "set with options": (command_of(b"SET", b"k", b"v", b"EX", b"9")
                         + command_of(b"SET", b"k", LONG, b"NX"),
                         b"+OK\r\n" * 2),
    "a long key": (command_of(b"SET", LONG, LONG) + command_of(b"GET", LONG), b"+OK\r\n$-1\r\n"),
    "too large": (command_of(b"SET", b"k", LONG), b"-ERR string exceeds maximum allowed size\r\n"),
    "nothing": (command_of(b"SET", b"k", b"") + b"*0\r\n\r\n", b"+OK\r\n"),
    "inline": (b"SET k v\r\nGET k\r\n", b"+OK\r\n$10\r\n%b\r\n" % TEN),
    "at the start": (command_of(b"COMMAND", b"DOCS")
                     + command_of(b"CLIENT", b"SETINFO", b"LIB-NAME", b"x")
                     + command_of(b"SELECT", b"0") + command_of(b"HELLO", b"3"),
                     b"*0\r\n+OK\r\n+OK\r\n-NOPROTO unsupported protocol version\r\n"),
}
FAULT = b"-ERR Protocol error: "
RESP_LAST = {
    "quit": (command_of(b"QUIT"), b"+OK\r\n"),
    "a negative array": (b"*-7\r\n", FAULT + b"invalid multibulk length\r\n"),
    "a vast array": (b"*1048577\r\n", FAULT + b"invalid multibulk length\r\n"),
    "no mark": (b"*1\r\nPING\r\n", FAULT + b"expected '$'\r\n"),
    "no size": (b"*1\r\n$x\r\n", FAULT + b"invalid bulk length\r\n"),
    "no end": (b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nvxx",
               FAULT + b"a string does not end with CR LF\r\n"),
    "a long line": (LONG, FAULT + b"too big inline request\r\n"),
}


@pytest.mark.parametrize("protocol, cases, last", [("memcached", MEMCACHED, MEMCACHED_LAST),
                                                   ("resp", RESP, RESP_LAST)])
def test_text_is_answered_as_the_server_of_its_name_does(protocol: str, cases: dict,
                                                         last: dict) -> None:
    after, answered = FIRST[protocol]
    answers(protocol, {name: (asked, said + answered) for name, (asked, said) in cases.items()},
            after)
    answers(protocol, last, after)


def test_redis_cli_gets_answers_and_errors() -> None:
    with server_started(LISTENS[0], "--serve", "resp", "op=get:10") as server:
        lines = "PING\nPING hello\nSET k v\nFROB 1\nGET\n"
        said = run(needed("redis-cli"), "-p", server.address.rpartition(":")[2], input=lines)
    assert said.split("\n\n") == ["PONG\nhello\nOK\nERR unknown command",
                                  "ERR wrong number of arguments", ""], said


@pytest.mark.parametrize("test", ["version", "verbosity", "set", "set noreply", "quit"])
def test_memcapable_of_libmemcached_passes_where_no_value_is_compared(test: str) -> None:
    with server_started(LISTENS[0], "--serve", "memcached") as server:
        host, port = server.address.split(":")
        tried = subprocess.run([needed("memccapable"), "-h", host, "-p", port, "-a", "-T",
                                f"ascii {test}"], capture_output=True, text=True, timeout=60)
        assert tried.returncode == 0 and "[pass]" in tried.stdout + tried.stderr, tried
        run(needed("memcping"), f"--servers={server.address}")


# ---- NBD, as the specification says ----

GO = (b"\0\0\0\3IHAVEOPT\0\0\0\7\0\0\0\6\0\0\0\0\0\0")


def greeted(server: Server) -> socket.socket:
    """A client of nbd that may ask now."""
    client = connect(server.address)
    client.settimeout(30)
    client.sendall(GO)
    received(client, 18 + 20 + 12 + 20)
    return client


def read_of(offset: int, size: int, kind: int = 0, flags: int = 0) -> bytes:
    return REQUEST + b"".join(number.to_bytes(size_of, "big") for number, size_of in (
        (flags, 2), (kind, 2), (7, 8), (offset, 8), (size, 4)))


EINVAL, ENOSPC = 22, 28
UNSUP, INVALID, TOO_BIG = 0x80000001, 0x80000003, 0x80000009
INFO = b"\0\0" + (16 * MIB).to_bytes(8, "big") + b"\x01\x0d"


def option(kind: int, data: bytes = b"", size: int | None = None) -> bytes:
    return b"IHAVEOPT" + b"".join(number.to_bytes(4, "big") for number in (
        kind, len(data) if size is None else size)) + data


def reply(kind: int, answer: int, data: bytes = b"") -> bytes:
    return b"\0\x03\xe8\x89\x04\x55\x65\xa9" + b"".join(
        number.to_bytes(4, "big") for number in (kind, answer, len(data))) + data


def named(name: bytes, size: int, *infos: int) -> bytes:
    """The data of GO, with a name that is said to have this size."""
    return size.to_bytes(4, "big") + name + b"".join(
        number.to_bytes(2, "big") for number in (len(infos), *infos))


@pytest.mark.parametrize("asked, answered", [
    ([option(7, named(b"x", 99))], [reply(7, INVALID)]),
    ([option(7, named(b"x", 2**32 - 1))], [reply(7, INVALID)]),
    ([option(7, named(b"x", 1, 3) + b"z")], [reply(7, INVALID)]),
    ([option(7, b"\0\0\0")], [reply(7, INVALID)]),
    ([option(7, named(b"n" * 4096, 4096, 0, 3))], [reply(7, 3, INFO), reply(7, 1)]),
    ([option(7, bytes(60000))], [reply(7, TOO_BIG)]),
    ([option(6, named(b"", 0))], [reply(6, 3, INFO), reply(6, 1)]),
    ([option(3)], [reply(3, 2, bytes(4)), reply(3, 1)]),
    ([option(3, b"x")], [reply(3, INVALID)]),
    ([option(99, b"abc"), option(10, bytes(70))], [reply(99, UNSUP), reply(10, UNSUP)]),
    ([option(5)], [reply(5, UNSUP)]),
    ([option(8)], [reply(8, UNSUP)]),
    ([option(2)], [reply(2, 1)]),
    ([option(1, b"name")], [INFO[2:]]),
    ([option(3, size=2**31)], []),
    ([b"y" * 16], []),
])
def test_options_of_nbd_are_answered_as_the_specification_says(asked: list, answered: list) -> None:
    with server_started(LISTENS[0], "--serve", "nbd", "--size", "16M") as server:
        for flags in (3, 1, 0):
            zeroes = bytes(124) if answered == [INFO[2:]] and flags != 3 else b""
            with connect(server.address) as client:
                client.settimeout(30)
                client.sendall(flags.to_bytes(4, "big") + b"".join(asked))
                client.shutdown(socket.SHUT_WR)
                said = b"".join(iter(lambda: client.recv(MIB), b""))
            assert said == b"NBDMAGICIHAVEOPT\0\3" + b"".join(answered) + zeroes


WRONG = {
    "beyond the end": (read_of(16 * MIB - 1, 2), EINVAL),
    "far away": (read_of(2**64 - 1, 2), EINVAL),
    "nothing": (read_of(0, 0), EINVAL),
    "too much": (read_of(0, 64 * MIB), EINVAL),
    "unknown": (read_of(0, 1, 9), EINVAL),
    "an unknown flag": (read_of(0, 1, 0, 0x8000), EINVAL),
    "a flush of bytes": (read_of(0, 1, 3), EINVAL),
    "a flush": (read_of(0, 0, 3), 0),
    "a write beyond the end": (read_of(16 * MIB - 1, 2, 1) + REQUEST[:2], ENOSPC),
    "a write with a flag": (read_of(0, 4, 1, 0x80) + REQUEST, EINVAL),
    "a write of nothing": (read_of(0, 0, 1), EINVAL),
    "a write through": (read_of(9, 1, 1, 1) + b"x", 0),
}
SIMPLE, CHUNK = b"\x67\x44\x66\x98\0\0\0%c%b", b"\x66\x8e\x33\xef\0\1%b%b\0\0\0%c"


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize("protocol", ["nbd", "nbd-structured"])
def test_a_bad_request_of_nbd_gets_an_error_and_the_next_one_its_reply(protocol: str,
                                                                      structured: bool) -> None:
    agreed = structured and protocol == "nbd-structured"
    cookie = (7).to_bytes(8, "big")
    with server_started(LISTENS[0], "--serve", protocol, "--size", "16M") as server, \
            connect(server.address) as client:
        client.settimeout(30)
        client.sendall(GO[:4] + option(8) * structured + GO[4:])
        received(client, 18 + 20 * structured + 20 + 12 + 20)
        for name, (asked, error) in WRONG.items():
            client.sendall(asked + read_of(64, 64))
            said = SIMPLE % (error, cookie)
            good = SIMPLE % (0, cookie)
            if agreed and asked[6:8] == b"\0\0":
                said = CHUNK % (b"\x80\1", cookie, 6) + b"\0\0\0%c\0\0" % error
            if agreed:
                good = CHUNK % (b"\0\1", cookie, 72) + (64).to_bytes(8, "big")
            answer = said + good + CONTENT[64:128]
            assert received(client, len(answer)) == answer, name


NBDSH = """
import errno
h.set_strict_mode(0)
h.set_request_structured_replies({structured})
h.connect_uri("{uri}")
end = h.get_size()
for call, why in ((lambda: h.pread(2, end - 1), "EINVAL"), (lambda: h.pread(0, 0), "EINVAL"),
                  (lambda: h.pwrite(b"xx", end - 1), "ENOSPC"),
                  (lambda: h.pread(1, 0, 0x8000), "EINVAL"),
                  (lambda: h.trim(1, 0), "EINVAL"), (lambda: h.zero(1, 0), "EINVAL")):
    try:
        call()
        print("no error")
    except nbd.Error as error:
        print(error.errno == why or error)
h.pwrite(b"abc", 0, nbd.CMD_FLAG_FUA)
h.flush()
print(h.pread(3, 0) == b"abc", h.get_structured_replies_negotiated())
h.shutdown()
"""


@pytest.mark.parametrize("protocol, structured", [("nbd", True), ("nbd-structured", True)])
def test_nbdsh_gets_errors_and_lists_the_export(protocol: str, structured: bool) -> None:
    with server_started(LISTENS[0], "--serve", protocol, "--size", "16M") as server:
        said = run(needed("nbdsh"), "-c", NBDSH.format(uri=uri(server), structured=structured),
                   env={**os.environ, "PATH": "/usr/bin:/bin"})
        agreed = structured and protocol == "nbd-structured"
        assert said.split() == ["True"] * 7 + [str(agreed)]
        assert 'export=""' in run(needed("nbdinfo"), "--list", uri(server))


# ---- clients that do harm ----

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
