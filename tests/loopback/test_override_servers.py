# SPDX-License-Identifier: MIT
"""Real servers under uncork-exec: what a reply of each is, seen from both ends, and what an
override makes of it. Facts of Debian 12: qemu-nbd 7.2, nbdkit 1.32, nginx 1.22, memcached 1.6 and
redis 7.0."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from overridden import EXEC, REPEATED, Replies, Run, asked, connected, segments_in, under
from programs import port_free, received

pytestmark = pytest.mark.skipif(not EXEC.exists(), reason=f"no {EXEC.name} in this build")
BLOCK = 4096


def needed(*programs: str) -> None:
    """Skips the test where a program is missing."""
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")


@contextmanager
def serving(folder: Path, override: str, *command: str) -> Iterator[Run]:
    """A server under uncork-exec, ended by SIGTERM."""
    with under(folder, *command, override=override) as run:
        yield run
        run.ended(signal.SIGTERM)
        assert "limit" not in run.report, run.report["limit"]  # the override is proved


# ---- NBD ----

def nbd_opened(port: int) -> socket.socket:
    """A connection that has agreed on the default export, with simple replies."""
    connection = connected(port)
    assert received(connection, 18)[:16] == b"NBDMAGICIHAVEOPT"
    connection.sendall(struct.pack(">I8sIIIH", 3, b"IHAVEOPT", 7, 6, 0, 0))
    while True:
        _, _, kind, size = struct.unpack(">QIII", received(connection, 20))
        received(connection, size)
        if kind == 1:
            return connection


NBD_READ = struct.pack(">IHHQQI", 0x25609513, 0, 0, 1, 0, BLOCK)


def nbd_read(connection: socket.socket) -> bytes:
    """A simple reply."""
    magic, error, _ = struct.unpack(">IIQ", received(connection, 16))
    assert (magic, error) == (0x67446698, 0)
    return received(connection, BLOCK)


def nbd_tls(port: int, keys: Path, count: int) -> Replies:
    """The same under TLS, by libnbd."""
    nbd = pytest.importorskip("nbd", reason="python3-libnbd is not installed")
    connection = connected(port)
    counted = connection.dup()
    handle = nbd.NBD()
    handle.set_tls(nbd.TLS_REQUIRE)
    handle.set_tls_psk_file(str(keys))
    handle.set_tls_username("test")
    handle.set_request_structured_replies(False)
    handle.connect_socket(connection.detach())

    class Reader:
        """What asked() asks."""
        family = socket.AF_INET

        def settimeout(self, _: float) -> None:
            """libnbd waits as long as it takes."""

        def sendall(self, _: bytes) -> None:
            """A request and its reply are one call."""

        def getsockopt(self, *arguments: int) -> Any:
            """Of the connection below."""
            return counted.getsockopt(*arguments)

    assert segments_in(counted) > 0
    replies = asked(Reader(), count,  # type: ignore[arg-type]
                    lambda _: bytes(handle.pread(BLOCK, 0)))
    handle.shutdown()
    counted.close()
    return replies


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """What qemu-nbd serves."""
    path = tmp_path / "disk"
    path.write_bytes(bytes(range(256)) * 4096)
    return path


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    """A key that both ends have."""
    path = tmp_path / "keys.psk"
    path.write_text(f"test:{'5a' * 16}\n")
    return path


def qemu_nbd(port: int, disk: Path, keys: Path | None = None) -> tuple[str, ...]:
    needed("qemu-nbd")
    tls = () if keys is None else (
        "--object", f"tls-creds-psk,id=t,endpoint=server,dir={keys.parent}", "--tls-creds", "t")
    return ("qemu-nbd", "-t", "-e", "0", "-f", "raw", "-b", "127.0.0.1", "-p", str(port), *tls,
            str(disk))


def nbdkit(port: int, keys: Path | None = None) -> tuple[str, ...]:
    needed("nbdkit")
    tls = () if keys is None else ("--tls=require", f"--tls-psk={keys}")
    return ("nbdkit", "-f", "-i", "127.0.0.1", "-p", str(port), *tls, "memory", "1M")


def version_of(program: str, option: str) -> tuple[int, ...]:
    """(7, 2, 0), as the program says."""
    said = subprocess.run([program, option], capture_output=True, text=True).stdout
    return tuple(map(int, re.findall(r"\d+", said)[:3]))


@pytest.mark.parametrize("override, segments, stalls, shape", [
    ("none", 2, True, [38, 4118]), ("nodelay", 2, False, [38, 4118]),
    ("more:64", 1, False, [38, 4118]), ("join", 1, False, [38, 4118])])
def test_qemu_nbd_7_2_under_tls(tmp_path, disk, keys, override, segments, stalls, shape):
    command = qemu_nbd(port := port_free(), disk, keys)
    if version_of("qemu-nbd", "--version") >= (8, 1):
        pytest.skip("qemu-nbd 8.1 and newer sets TCP_NODELAY and joins by itself")
    with serving(tmp_path, override, *command) as run:
        replies = nbd_tls(port, keys, 60)
    assert replies.came_as(segments)
    assert replies.stalled is stalls
    assert replies.median_ms < 10 or stalls
    kind = run.kind()
    assert run.shape() == (60, shape) and kind["waits_200ms"] < 6  # a busy machine has such waits
    assert kind["nodelay"] is (override == "nodelay")
    if stalls:
        assert kind["waits_40ms"] >= 40 and kind["try"] == "more:64"
        assert kind["says"].startswith("Messages are groups of 2 sends (38, 4118), no TCP_NODELAY, "
                                       "and a wait of about 40 ms after each")


def test_qemu_nbd_without_tls_sends_a_reply_at_once(tmp_path, disk):
    command = qemu_nbd(port := port_free(), disk)
    with serving(tmp_path, "none", *command) as run, nbd_opened(port) as client:
        replies = asked(client, 100, nbd_read, NBD_READ)
    assert replies.came_as(1) and run.shape() == (100, [16 + BLOCK])
    assert "nothing to join" in run.kind()["says"]


@pytest.mark.parametrize("override, segments", [("none", 1), ("nomore", 2)])
def test_nbdkit_joins_by_msg_more(tmp_path, override, segments):
    command = nbdkit(port := port_free())
    with serving(tmp_path, override, *command) as run, nbd_opened(port) as client:
        replies = asked(client, 100, nbd_read, NBD_READ)
    assert replies.came_as(segments) and not replies.stalled
    kind = run.kind()
    assert run.shape() == (100, [16, BLOCK]) and kind["nodelay"] is True
    assert [one["more"] for one in kind["shapes"][0]["fragments"]] == [True, False]
    assert kind["try"] == "nomore" and "joined by MSG_MORE" in kind["says"]


@pytest.mark.parametrize("override, segments, shape", [("none", 1, [4134]),
                                                       ("nocork", 2, [38, 4118])])
def test_nbdkit_joins_under_tls_by_the_cork_of_gnutls(tmp_path, keys, override, segments, shape):
    command = nbdkit(port := port_free(), keys)
    with serving(tmp_path, override, *command) as run:
        replies = nbd_tls(port, keys, 60)
    groups, fragments = run.shape()
    assert replies.came_as(segments) and fragments == shape
    assert 57 <= groups <= 60  # under load a group may be cut


# ---- HTTP and caches ----

def http_read(connection: socket.socket) -> bytes:
    """A reply with a Content-Length, without its header, which has the time."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(65536)
        assert piece
        head += piece
    head, _, body = head.partition(b"\r\n\r\n")
    found = re.search(rb"Content-Length: (\d+)", head)
    assert found and b" 200 " in head, head
    return body + received(connection, int(found[1]) - len(body))


@pytest.mark.parametrize("sendfile, nopush, override, segments, calls, corked", [
    ("on", "on", "none", 1, ["writev", "sendfile"], True),
    ("on", "on", "nocork", 2, ["writev", "sendfile"], False),
    ("on", "off", "none", 2, ["writev", "sendfile"], False),
    ("on", "off", "more:256", 1, ["writev", "sendfile"], False),
    ("off", "on", "none", 1, ["writev"], False)])
def test_nginx_corks_where_tcp_nopush_is_on(tmp_path, sendfile, nopush, override, segments, calls,
                                            corked):
    needed("nginx")
    port = port_free()
    (tmp_path / "file").write_bytes(b"x" * BLOCK)
    paths = "".join(f"{name}_temp_path {tmp_path}/{name};\n"
                    for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (tmp_path / "n.conf").write_text(
        f"daemon off; master_process off; pid {tmp_path}/pid; events {{}}\nhttp {{ {paths}"
        f"access_log off; keepalive_requests 1000000; sendfile {sendfile}; tcp_nopush {nopush}; "
        f"server {{ listen 127.0.0.1:{port}; root {tmp_path}; }} }}\n")
    with serving(tmp_path, override, "nginx", "-p", str(tmp_path), "-e", "stderr", "-c",
                 str(tmp_path / "n.conf")) as run, connected(port) as client:
        replies = asked(client, 100, http_read, b"GET /file HTTP/1.1\r\nHost: a\r\n\r\n")
    assert replies.came_as(segments)
    kind = run.kind()
    fragments = kind["shapes"][0]["fragments"]
    assert [one["call"] for one in fragments] == calls and kind["shapes"][0]["groups"] >= 99
    assert all(one["corked"] is corked for one in fragments)
    assert ("joined by TCP_CORK" in kind["says"]) is corked
    assert kind.get("try") == ("nocork" if corked else "more:256" if len(calls) == 2 else None)


def whole_groups(run: Run) -> list[dict[str, Any]]:
    """The shapes of a server that answered 100 requests alone and 10 times 16 at once. The kernel
    may deliver the 16 in parts, the first of which may be one request."""
    shapes = run.kind()["shapes"]
    assert shapes[0]["sends"] == 1 and 100 <= shapes[0]["groups"] <= 110
    return shapes


def test_memcached_replies_by_one_send(tmp_path):
    needed("memcached")
    port = port_free()
    with serving(tmp_path, "none", "memcached", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-t",
                 "1", "-u", "nobody") as run, connected(port) as client:
        asked(client, 1, 8, b"set k 0 0 %d\r\n%s\r\n" % (BLOCK, b"v" * BLOCK))
        size = len(b"VALUE k 0 %d\r\n" % BLOCK) + BLOCK + len(b"\r\nEND\r\n")
        replies = asked(client, 100, size, b"get k\r\n")
        asked(client, 10, 16 * size, b"get k\r\n" * 16)
    shapes = whole_groups(run)
    assert replies.came_as(1) and shapes[0]["fragments"][0]["call"] == "sendmsg"
    if version_of("memcached", "-V") < (1, 6, 30):  # 1.6.38 of Debian 13 joins replies to 16
        assert max(one["sends"] for one in shapes) > 1


def test_redis_replies_by_one_write(tmp_path):
    needed("redis-server")
    port = port_free()
    with serving(tmp_path, "none", "redis-server", "--port", str(port), "--bind", "127.0.0.1",
                 "--save", "", "--dir", str(tmp_path)) as run, connected(port) as client:
        asked(client, 1, 5, b"SET k %s\r\n" % (b"v" * 100))
        replies = asked(client, 100, 108, b"GET k\r\n")
        asked(client, 10, 16 * 108, b"GET k\r\n" * 16)
    shapes = whole_groups(run)
    assert replies.came_as(1) and {one["sends"] for one in shapes} == {1}
    assert {one["fragments"][0]["call"] for one in shapes} == {"write"}


@pytest.mark.parametrize("tls", [False, True])
def test_1000_reads_of_a_real_server_are_the_same_with_and_without_watching(tmp_path, keys, tls):
    def read(port: int) -> Replies:
        if tls:
            connected(port).close()
            return nbd_tls(port, keys, 1000)
        with nbd_opened(port) as client:
            return asked(client, 1000, nbd_read, NBD_READ)
    port, plain_port = port_free(), port_free()
    with serving(tmp_path, "none", *nbdkit(port, keys if tls else None)) as run:
        watched = read(port)
    with subprocess.Popen(nbdkit(plain_port, keys if tls else None)) as alone:
        plain = read(plain_port)
        alone.terminate()
    assert watched.data == plain.data and watched.different(plain) <= REPEATED
    assert plain.came_as(1) and len(plain.each) == 1000
    assert run.kind()["groups"] >= 1000
