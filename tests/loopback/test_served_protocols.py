# SPDX-License-Identifier: MIT
"""uncork-server --serve: what it answers byte by byte, as the specification of each protocol says,
and what other programs make of it."""

from __future__ import annotations

import os
import socket
import subprocess

import pytest

from control import connect
from programs import received, server_started
from served import (
    CONTENT,
    FIRST,
    GO,
    LISTENS,
    MIB,
    REQUEST,
    TEN,
    needed,
    read_of,
    run,
    said_to,
    uri,
)

VERSION = b"1.6.0-uncork"  # memcached: clients parse it


# ---- HTTP ----

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


# ---- text ----

MEMCACHED = {
    "several": (b"set a 0 0 3\r\nabc\r\nget a\r\nnonsense\r\nversion\r\n",
                b"STORED\r\nVALUE a 0 10\r\n%b\r\nEND\r\nERROR\r\nVERSION %b\r\n" % (TEN, VERSION)),
    "the longest key": (b"get %b\r\n" % (b"k" * 250),
                        b"VALUE %b 0 10\r\n%b\r\nEND\r\n" % (b"k" * 250, TEN)),
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
    "several": (command_of(b"get", b"k") + command_of(b"SET", b"k", b"ab") + b"PING\r\n",
                b"$10\r\n%b\r\n+OK\r\n+PONG\r\n" % TEN),
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
                     + command_of(b"SELECT", b"0") + command_of(b"HELLO", b"3")
                     + command_of(b"CONFIG", b"GET", b"save"),
                     b"*0\r\n+OK\r\n+OK\r\n-NOPROTO unsupported protocol version\r\n*0\r\n"),
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


# ---- NBD ----

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
