# SPDX-License-Identifier: MIT
"""protocol=http: requests and replies byte by byte, servers that lie, and nginx as a subject."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from combinations import names
from overridden import EXEC
from programs import BIN, client_run, pattern, received, record_sum, records_ok
from test_protocols import lie_told, server

REQUEST = b"GET /%d HTTP/1.1\r\nHost: uncork\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %d\r\n\r\n"
CONTENT = pattern()
UNCORK = Path(__file__).parents[2] / "scripts/uncork"


def reply(size: int) -> bytes:
    return HEAD % size + CONTENT[:size]


def run(port: int, *words: str) -> subprocess.CompletedProcess[str]:
    return client_run("protocol=http", "op=get:100", f"peer=127.0.0.1:{port}", "control=none",
                      "place=free", "warmup=0s", "verify=on", *words)


def test_a_strategy_joins_the_head_and_the_content_of_our_server() -> None:
    split, joined = records_ok([f"protocol=http op=get:4K messages=200 place=free reply_write={one}"
                                for one in ("nodelay", "writev")])
    assert record_sum(split["server"], "messages_sent") == 200
    calls = [sum(sum(thread["calls"].values()) for thread in record["server"]["threads"])
             for record in (split, joined)]
    assert calls[0] >= calls[1] + 200


@pytest.mark.parametrize("piece", [1, 7, 100000])
def test_heads_of_others_are_read_in_pieces_of_any_size(piece: int) -> None:
    head = (b"HTTP/1.1 200\r\nserver:x\r\nCONTENT-LENGTH: \t100 \r\nX-Close: close\r\n"
            b"Connection: Keep-Alive\r\nX: " + b"y" * 3000 + b"\r\n\r\n")

    def serve(peer: socket.socket) -> None:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(10):
            assert received(peer, len(REQUEST % 100)) == REQUEST % 100
        data = 10 * (head + CONTENT[:100])
        for at in range(0, len(data), piece):
            peer.sendall(data[at:at + piece])

    with server(serve) as port:
        done = run(port, "messages=10", "depth=10")
    assert done.returncode == 0, done.stderr


# ---- lies ----

def lie(*parts: bytes, ends: bool = False) -> Callable[[socket.socket], None]:
    """A server that answers the first request by these bytes."""
    def serve(peer: socket.socket) -> None:
        received(peer, len(REQUEST % 100))
        peer.sendall(b"".join(parts))
        if ends:
            peer.shutdown(socket.SHUT_WR)
    return serve


OK, LENGTH = b"HTTP/1.1 200 OK\r\n", b"Content-Length: 100\r\n"
LIES = {
    "not found": (lie(b"HTTP/1.1 404 Not Found\r\n", LENGTH, b"\r\n", bytes(100)),
                  'sent "HTTP/1.1 404 Not Found", where status 200 would be right'),
    "part of it": (lie(b"HTTP/1.1 206 Partial Content\r\n", LENGTH, b"\r\n"), "206 Partial"),
    "four digits": (lie(b"HTTP/1.1 2000 OK\r\n", LENGTH, b"\r\n"), "2000 OK"),
    "an old version": (lie(b"HTTP/1.0 200 OK\r\n", LENGTH, b"\r\n"), "not a reply of HTTP/1.1"),
    "garbage": (lie(b"\0\xff" * 5000), "not a reply of HTTP/1.1"),
    "a greeting": (lambda peer: peer.sendall(b"SSH-2.0-x\r\n"), "not a reply of HTTP/1.1"),
    "chunks": (lie(OK, b"Transfer-Encoding: chunked\r\n\r\n64\r\n"),
               "by Transfer-Encoding and not by Content-Length"),
    "both": (lie(OK, LENGTH, b"Transfer-Encoding: chunked\r\n\r\n"), "by Transfer-Encoding"),
    "no length": (lie(OK, b"\r\n", bytes(100)), "answered without Content-Length"),
    "less": (lie(OK, b"Content-Length: 99\r\n\r\n"), "answered 99 bytes to a get of 100"),
    "more": (lie(OK, b"Content-Length: 18446744073709551615\r\n\r\n"), "18446744073709551615 byt"),
    "a length of 20 digits": (lie(OK, b"Content-Length: 99999999999999999999\r\n\r\n"),
                              "where one number would be right"),
    "a negative length": (lie(OK, b"Content-Length: -1\r\n\r\n"), "Content-Length: -1"),
    "two lengths": (lie(OK, LENGTH, b"Content-Length: 5\r\n\r\n"), "Content-Length: 5"),
    "words for a length": (lie(OK, b"Content-Length: 100, 100\r\n\r\n"), "100, 100"),
    "the end after it": (lie(OK, LENGTH, b"Connection: x, Close\r\n\r\n", CONTENT[:100]),
                         'says "Connection: close"'),
    "no field": (lie(OK, b"what is this\r\n\r\n"), '"what is this", which is not a header field'),
    "a folded line": (lie(OK, LENGTH, b" more: x\r\n\r\n"), "not a header field"),
    "a head without an end": (lie(OK, b"X: ", b"y" * 9000), "a head of more than 4096 bytes"),
    "a head too long": (lie(OK, LENGTH, b"X: ", b"y" * 5000, b"\r\n\r\n"), "more than 4096 bytes"),
    "two replies": (lie(reply(100), reply(100)), "sent a reply for which no request waits"),
    "wrong content": (lie(HEAD % 100, bytes(100)), "wrong content at byte 0 of a get"),
    "the end in a head": (lie(OK, ends=True), "closed its connection before the work was done"),
    "the end in the content": (lie(HEAD % 100, CONTENT[:50], ends=True), "closed its connection"),
    "the end at once": (lambda peer: peer.shutdown(socket.SHUT_WR), "closed its connection"),
}


@pytest.mark.parametrize("which", LIES)
def test_a_server_that_lies_gets_one_clear_line(which: str) -> None:
    lie_told(*LIES[which], lambda port: run(port, "messages=100"))


# ---- nginx ----

@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The subjects that ship, for uncork-server."""
    if not shutil.which("nginx", path="/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin"):
        pytest.skip("nginx is not installed: uncork setup nginx")
    path = tmp_path_factory.mktemp("nginx") / "subjects.json"
    with path.open("w") as file:
        subprocess.run([UNCORK, "subjects", "--json"], stdout=file, check=True)
    return path


def nginx(definitions: Path, *words: str) -> list[dict]:
    """The records of runs, each with words of its own."""
    done = client_run("--subjects", str(definitions), "--batch", "-", stdin="".join(
        f"protocol=http subject=nginx verify=on place=free {line}\n" for line in words))
    records = [json.loads(line) for line in done.stdout.splitlines()][:len(words)]
    for record in records:
        assert record["status"] == "ok", record["reason"]
    return records


def test_nginx_serves_content_of_every_size_over_tcp_and_unix(definitions: Path) -> None:
    for record in nginx(definitions, *(
            f"op=get:100*7+get:16K*3+get:1M messages=440 depth={depth} connections=3 "
            f"transport={transport}" for depth in (1, 16) for transport in ("tcp", "unix"))):
        assert record_sum(record["client"], "messages_received") == 440
        assert record["subject"]["version"].startswith("nginx")


FILE = "op=get:4K messages=100"


@pytest.mark.parametrize(("words", "segments"), [
    ("nginx.sendfile=on nginx.tcp_nopush=on", 1), ("nginx.sendfile=on nginx.tcp_nopush=off", 2),
    ("nginx.sendfile=off nginx.tcp_nopush=off", 1), ("nginx.tcp_nopush=on override=nocork", 2),
    ("nginx.tcp_nopush=off override=more:512", 1), ("nginx.tcp_nopush=off override=join", 1)])
def test_segments_of_nginx_follow_its_parameters_and_the_override(definitions: Path, words: str,
                                                                  segments: int) -> None:
    if "override" in words and not EXEC.exists():
        pytest.skip(f"no {EXEC.name} in this build")
    (record,) = nginx(definitions, f"{FILE} {words}")
    came = sum(one["tcp_info"]["data_segs_in"]["sum"] for one in record["client"]["threads"])
    # a busy machine may merge two sends, and sends the last segment again where a client is late
    assert segments - 0.1 <= came / 100 <= segments + 0.5


@pytest.mark.skipif(not EXEC.exists() or os.geteuid() != 0, reason="needs uncork-exec and root")
def test_an_override_reaches_a_subject_that_may_not_enter_the_folder_of_its_library(
        definitions: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    shutil.copytree(BIN, closed)
    closed.chmod(0o700)
    done = subprocess.run([closed / "uncork-client", "--subjects", definitions, "--json",
                           "protocol=http", "subject=nginx", *FILE.split(), "nginx.tcp_nopush=on",
                           "override=nocork"], capture_output=True, text=True)
    record = json.loads(done.stdout)
    assert record["status"] == "ok", record["reason"]
    assert record["subject"]["user"] == "nobody"


@pytest.mark.parametrize("security", [name for name in names("security")
                                      if name not in ("plain", "ktls")])
@pytest.mark.parametrize(("size", "buffer", "records"), [
    ("4K", "16k", 1), ("4K", "4k", 2), ("1M", "16k", 65), ("1M", "4k", 257)])
def test_nginx_makes_a_record_of_each_buffer(definitions: Path, security: str, size: str,
                                             buffer: str, records: int) -> None:
    (record,) = nginx(definitions, f"op=get:{size} messages=50 warmup=20ms security={security} "
                                   f"nginx.ssl_buffer_size={buffer}")
    assert record_sum(record["client"], "records_received") == 50 * records
    assert record["client"]["threads"][0]["options"]["key_exchange"] == "certificate"


def test_what_nginx_says_of_its_configuration_is_shown(definitions: Path) -> None:
    done = client_run("--subjects", str(definitions), "protocol=http", "subject=nginx", "op=get:4K",
                      "nginx.tcp_nopush=maybe")
    assert done.returncode == 1
    assert 'invalid value "maybe" in "tcp_nopush" directive' in done.stderr
    assert done.stderr.count("\n") == 1
