# SPDX-License-Identifier: MIT
"""protocol=: requests and replies of a protocol, between our own ends, against servers of others,
and against servers that lie."""

from __future__ import annotations

import random
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from combinations import READS_WITHOUT_BYTES, line, names, strategies, thinned, without_unused
from pairwise import pairwise_rows
from programs import (
    SANITIZED,
    batch_run,
    client_json,
    client_run,
    pattern,
    received,
    record_ok,
    record_sum,
    records_ok,
)

NBD = ["nbd", "nbd-structured"]
OPS = {  # by protocol
    **dict.fromkeys(NBD, ["read:4K", "write:4K", "read:1", "read:100K*2+write:3*5",
                          "write:1M+read:1M"]),
    "http": ["get:4K", "get:1", "get:100*7+get:16K*3", "get:100K*2+get:3*5", "get:1M"],
    "memcached": ["get:4K", "set:4K", "get:1", "get:100K*2+set:3*5", "set:1M+get:1M"],
    "resp": ["get:4K", "set:4K", "ping", "get:100K*2+set:3*5+ping", "set:1M+get:1M"],
}
MESSAGES = 24
WORDS = {
    "depth": ["1", "16"],
    "window": ["1", "3"],
    "chunk": ["64K", "4K", "999"],
    "connections": ["1", "3"],
    "threads": ["1", "2"],
    "warmup": ["0s", "3ms"],
    "rate": ["closed", "3000"],
    "source": ["hot", "cold:1M"],
}
FRAMING = [name for name in strategies() if name != "sendfile"]  # heads are in no file
TABLES = {  # of words that go together
    "tcp": {"write": FRAMING, "reply_write": FRAMING,
            "read": [name for name in names("reading") if name not in READS_WITHOUT_BYTES]},
    "unix": {"transport": ["unix"], "write": ["nodelay", "writev", "coalesce"],
             "reply_write": ["nodelay", "writev", "coalesce"], "engine": ["auto", "poll", "block"]},
    "tls": {"security": [name for name in names("security") if name not in ("plain", "ktls")],
            "write": ["nodelay", "cork", "coalesce"],
            "reply_write": ["nodelay", "cork", "coalesce"],
            "engine": ["auto", "poll", "block", "ring"]},
}


def check_counts(record: dict, messages: int) -> None:
    client, server = record["client"], record["server"]
    for end in (client, server):
        assert record_sum(end, "messages_sent") == record_sum(end, "messages_received") == messages
    assert record_sum(client, "bytes_sent") == record_sum(server, "bytes_received")
    assert record_sum(server, "bytes_sent") == record_sum(client, "bytes_received")
    assert sum(thread["latency"]["count"] for thread in client["threads"]) == messages


def test_the_words_of_every_protocol_are_tried() -> None:
    assert {"raw", *OPS} == set(names("protocol"))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("protocols", [NBD, *([name] for name in OPS if name not in NBD)],
                         ids=lambda protocols: protocols[0])
def test_every_pair_of_words_carries_requests_and_replies_whole(table: str, protocols: list[str],
                                                                tally) -> None:
    words = {"protocol": protocols, "op": OPS[protocols[0]]} | WORDS | TABLES[table]
    planned = [row | {"verify": "on", "messages": str(MESSAGES), "place": "free"}
               for row in thinned(pairwise_rows(words))]
    checked = client_json("--check", "-", stdin="\n".join(map(line, planned)) + "\n")[:-1]
    lines = []
    for words, check in zip(planned, checked, strict=True):
        if "unsupported" in check:
            tally.skip(check["unsupported"])
        else:
            lines.append(line(without_unused(words, check["unused"])))
    for record in records_ok(lines):
        check_counts(record, MESSAGES)
        tally.run()
    assert len(lines) > len(planned) // 10


GET = len("GET /100 HTTP/1.1\r\nHost: uncork\r\n\r\n")
HEAD = len("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
           "Content-Length: 100\r\n\r\n")
KEY = len("uncork-00000100-00")


@pytest.mark.parametrize(("words", "asked", "answered"), [
    ("nbd op=read:4K*7+write:1K*3", 100 * 28 + 30 * 1024, 70 * (16 + 4096) + 30 * 16),
    ("nbd-structured op=read:4K*7+write:1K*3", 100 * 28 + 30 * 1024, 70 * (28 + 4096) + 30 * 16),
    ("http op=get:100*7+get:16K*3", 70 * GET + 30 * (GET + 2),
     70 * (HEAD + 100) + 30 * (HEAD + 2 + 16384)),
    ("memcached op=get:100*9+set:100",
     90 * (KEY + len("get \r\n")) + 10 * (KEY + len("set  0 0 100\r\n\r\n") + 100),
     90 * (KEY + len("VALUE  0 100\r\n\r\nEND\r\n") + 100) + 10 * len("STORED\r\n")),
    ("resp op=get:100*9+set:100",
     90 * (KEY + len("*2\r\n$3\r\nGET\r\n$18\r\n\r\n"))
     + 10 * (KEY + len("*3\r\n$3\r\nSET\r\n$18\r\n\r\n$100\r\n\r\n") + 100),
     90 * (len("$100\r\n\r\n") + 100) + 10 * len("+OK\r\n")),
    ("resp op=ping", 100 * len("*1\r\n$4\r\nPING\r\n"), 100 * len("+PONG\r\n")),
])
def test_a_mix_has_its_exact_share_of_bytes(words: str, asked: int, answered: int) -> None:
    record = record_ok(f"protocol={words} messages=100 warmup=0s depth=4 reply_write=coalesce "
                       "write=coalesce verify=on place=free")
    assert record_sum(record["client"], "bytes_sent") == asked
    assert record_sum(record["server"], "bytes_sent") == answered


# ---- servers of others ----

GREETING = b"NBDMAGICIHAVEOPT" + struct.pack(">H", 3)
OPTION_REPLY = 0x3E889045565A9
SIZE = 1 << 26


def option_reply(option: int, kind: int, body: bytes = b"") -> bytes:
    return struct.pack(">QIII", OPTION_REPLY, option, kind, len(body)) + body


def greet(peer: socket.socket, *, flags: int = 1) -> None:
    """The dialogue up to the first request, as a server of GO and structured replies has it."""
    peer.sendall(GREETING)
    received(peer, 4)
    while True:
        _, option, size = struct.unpack(">8sII", received(peer, 16))
        received(peer, size)
        if option == 7:
            break
        peer.sendall(option_reply(option, 1))
    peer.sendall(option_reply(7, 3, struct.pack(">HQH", 0, SIZE, flags)) + option_reply(7, 1))


def requests(peer: socket.socket, count: int) -> list[tuple[int, int, int]]:
    """(cookie, offset, size) of that many reads."""
    found = []
    for _ in range(count):
        magic, _, kind, cookie, offset, size = struct.unpack(">IHHQQI", received(peer, 28))
        assert (magic, kind) == (0x25609513, 0)
        found.append((cookie, offset, size))
    return found


def simple(cookie: int, body: bytes = b"", error: int = 0, magic: int = 0x67446698) -> bytes:
    return struct.pack(">IIQ", magic, error, cookie) + body


def chunk(cookie: int, kind: int, body: bytes, flags: int = 1) -> bytes:
    return struct.pack(">IHHQI", 0x668E33EF, flags, kind, cookie, len(body)) + body


@contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server of one connection; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def run() -> None:
            peer, _ = listener.accept()
            with peer:
                try:
                    serve(peer)
                    while peer.recv(65536):
                        pass
                except OSError:
                    pass

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
    thread.join(10)
    assert not thread.is_alive()


def lie_told(serve: Callable[[socket.socket], None], why: str,
             run: Callable[[int], subprocess.CompletedProcess[str]]) -> str:
    """What a client that asks a server that lies says: one line with the reason, and soon."""
    with server(serve) as port:
        began = time.monotonic()
        done = run(port)
    assert done.returncode == 1
    assert why in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1
    assert time.monotonic() - began < (60 if SANITIZED else 30)
    return done.stderr


def lie(answer: Callable[[int], bytes]) -> Callable[[socket.socket], None]:
    def serve(peer: socket.socket) -> None:
        greet(peer)
        peer.sendall(answer(requests(peer, 1)[0][0]))
    return serve


LIES = {
    "no magic": (lie(lambda cookie: simple(cookie, magic=0x12345678)), "0x12345678 in place of"),
    "an error": (lie(lambda cookie: simple(cookie, error=5)),
                 "error 5 (Input/output error) to a read"),
    "another cookie": (lie(lambda cookie: simple(cookie + 1)), "no request waits: cookie 0x"),
    "two replies": (lie(lambda cookie: simple(cookie, bytes(4096)) + simple(cookie, bytes(4096))),
                    "for which no request waits"),
    "a chunk beyond": (lie(lambda cookie: chunk(cookie, 1, struct.pack(">Q", 4096) + bytes(4096))),
                       "a chunk of 4096 bytes at byte 4096"),
    "a chunk before": (lie(lambda cookie: chunk(cookie, 1, struct.pack(">Q", 1 << 63) + bytes(9))),
                       "a chunk of 9 bytes"),
    "less than asked": (lie(lambda cookie: chunk(cookie, 1, bytes(8) + bytes(100))),
                        "100 bytes to a read of 4096"),
    "twice": (lie(lambda cookie: chunk(cookie, 1, bytes(8) + bytes(4096), 0)
                  + chunk(cookie, 1, bytes(8) + bytes(1))), "a chunk of 1 bytes"),
    "a hole": (lie(lambda cookie: chunk(cookie, 2, struct.pack(">QI", 0, 4096))), "a hole of 4096"),
    "a chunk of errors": (lie(lambda cookie: chunk(cookie, 0x8001, struct.pack(">IH", 28, 0))),
                          "error 28 (No space left"),
    "a chunk of no known type": (lie(lambda cookie: chunk(cookie, 99, b"")), "chunk of type 99"),
    "a chunk without its offset": (lie(lambda cookie: chunk(cookie, 1, b"abc")), "with 3 bytes"),
    "the end in a reply": (lambda peer: (greet(peer), requests(peer, 1), peer.sendall(bytes(3)),
                                         peer.shutdown(socket.SHUT_WR)),
                           "closed its connection before the work was done"),
    "silence": (lambda peer: None, "was silent for 5 s"),
    "no greeting": (lambda peer: peer.sendall(b"HTTP/1.1 400 Bad Request\r\n"), "does not greet"),
    "an end at once": (lambda peer: peer.shutdown(socket.SHUT_WR), "ended the connection while"),
    "a refused option": (lambda peer: (peer.sendall(GREETING), received(peer, 20), peer.sendall(
        option_reply(8, 0x80000001, b"not here"))),
                         "refused option 8 by error 0x80000001: not here"),
    "a reply to another option": (lambda peer: (peer.sendall(GREETING), received(peer, 20),
                                                peer.sendall(option_reply(3, 1))),
                                  "no reply to option 8"),
    "an option of 4 GiB": (lambda peer: (peer.sendall(GREETING), received(peer, 20), peer.sendall(
        struct.pack(">QIII", OPTION_REPLY, 8, 1, 0xFFFFFFFF))), "no reply to option 8"),
}


@pytest.mark.parametrize("which", LIES)
def test_a_server_that_lies_gets_one_clear_line(which: str) -> None:
    lie_told(*LIES[which], lambda port: client_run(
        "protocol=nbd-structured", "op=read:4K", f"peer=127.0.0.1:{port}", "control=none",
        "messages=100", "place=free"))


def test_a_read_only_server_is_not_written_to() -> None:
    with server(lambda peer: greet(peer, flags=3)) as port:
        done = client_run("protocol=nbd", "op=write:4K", f"peer=127.0.0.1:{port}", "control=none")
    assert done.returncode == 1
    assert "read-only" in done.stderr


def test_ten_thousand_replies_in_any_order_are_matched_and_checked() -> None:
    content, depth, count = pattern() * 4, 64, 2000 if SANITIZED else 10000

    def serve(peer: socket.socket) -> None:
        greet(peer)
        dice, waiting = random.Random(1), []
        for left in range(count, 0, -1):
            while len(waiting) < min(depth, left):
                waiting += requests(peer, 1)
            cookie, offset, size = waiting.pop(dice.randrange(len(waiting)))
            begin = offset % 65521
            peer.sendall(simple(cookie, content[begin:begin + size]))

    with server(serve) as port:
        (record,) = batch_run([f"protocol=nbd op=read:4K peer=127.0.0.1:{port} control=none "
                               f"place=free verify=on depth={depth} messages={count} warmup=0s"])
    assert record["status"] == "ok", record["reason"]
    assert record_sum(record["client"], "messages_received") == count
    assert sum(thread["latency"]["count"] for thread in record["client"]["threads"]) == count


def test_wrong_content_is_named_with_its_byte() -> None:
    content = bytearray(pattern()[:4096])
    content[1000] ^= 1
    with server(lambda peer: (greet(peer), peer.sendall(
            simple(requests(peer, 1)[0][0], bytes(content))))) as port:
        done = client_run("protocol=nbd", "op=read:4K", f"peer=127.0.0.1:{port}", "control=none",
                          "verify=on", "messages=1", "warmup=0s")
    assert done.returncode == 1
    assert "wrong content at byte 1000 of a read" in done.stderr


@pytest.mark.parametrize("protocol", NBD)
@pytest.mark.parametrize("program", ["nbdkit", "qemu-nbd"])
def test_a_server_of_others_is_read_and_written(program: str, protocol: str,
                                                tmp_path: Path) -> None:
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    path, disk = tmp_path / "socket", tmp_path / "disk"
    disk.write_bytes((pattern() * 1025)[:SIZE])
    commands = {"nbdkit": ["nbdkit", "-f", "-U", path, "file", disk],
                "qemu-nbd": ["qemu-nbd", "-t", "-e", "0", "-f", "raw", "-k", path, disk]}
    running = subprocess.Popen(commands[program])
    try:
        while not path.exists():
            assert running.poll() is None
            time.sleep(0.01)
        to = (f"transport=unix peer=unix:{path} control=none protocol={protocol} verify=on "
              "place=free")
        records_ok([f"{to} op=read:4K messages=200", f"{to} op=read:64K depth=16 messages=200",
                    f"{to} op=write:4K*3+read:4K depth=16 messages=400",
                    f"{to} op=read:32M messages=3"])
    finally:
        running.terminate()
        running.wait(10)
    assert disk.read_bytes() == (pattern() * 1025)[:SIZE], "written content is the same"
