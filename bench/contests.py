# SPDX-License-Identifier: MIT
"""The contests: what is measured, against whom, and what must be reached. The one list of them.

A contest is a row of CONTESTS; its words are those of `uncork-client`, and the contenders take
their sizes from the same words. No reach and no limit: for information.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

TOGETHER = "together"
APART = "apart"


def words_split(words: str) -> dict[str, str]:
    """The words by key."""
    return dict(word.split("=", 1) for word in words.split())


@dataclass(frozen=True)
class Against:
    """A ratio: the contest's metric of uncork by that of the contender; its interval at least
    `reach`, and its estimate at least `estimate`.

    `words`: there is no other tool. The contender is uncork with these words. `differs`: what the
    two do not do alike, one sentence.
    """

    contender: str
    reach: float | None = None
    estimate: float = -math.inf
    words: str = ""
    differs: str = ""


@dataclass(frozen=True)
class Figure:
    """A metric of uncork alone (scripts/suite/observe/metrics.py); at most `limit`."""

    metric: str
    limit: float | None = None


@dataclass(frozen=True)
class Contest:
    """One row: the same work for uncork and all contenders, in each of the places.

    `pairs`: contenders next to each other. `warms`: with a warm-up. `every`: it runs in every round
    or in each so many.
    """

    name: str
    says: str
    words: str
    metric: str
    against: tuple[Against, ...] = ()
    figures: tuple[Figure, ...] = ()
    places: tuple[str, ...] = (TOGETHER,)
    pairs: tuple[tuple[str, str], ...] = ()
    warms: bool = True
    every: int = 1

    @property
    def load(self) -> dict[str, str]:
        """The words by key."""
        return words_split(self.words)

    @property
    def loads(self) -> dict[str, dict[str, str]]:
        """The words of the runs that are uncork's too, by the name of the contender."""
        return {one.contender: words_split(one.words) for one in self.against if one.words}


RATE, BANDWIDTH, TIME = "messages_per_second", "bandwidth", "time_per_message"
BOTH = (TOGETHER, APART)
BLOCK = "uncork, block"  # the same work in the engine with the fewest calls
SELDOM = 2  # what needs no narrow interval runs in every second round

# By name: write and read of a proxy on a ring, where the proxy of liburing does the same.
PROXIES = {
    "send": ("uring-send", "uring-multishot"),
    "sendmsg": ("uring-sendmsg", "uring-multishot"),
    "ring": ("uring-ring", "uring-multishot"),
    "bundle": ("uring-bundle", "uring-multishot"),
    "sendmsg-bundle": ("uring-sendmsg", "uring-bundle"),
    "bundle-bundle": ("uring-bundle", "uring-bundle"),
}


def proxy_contest(name: str, chunk: str) -> Contest:
    """256 buffers, a window. Nagle's algorithm is on, as it is unless it is turned off."""
    write, read = PROXIES[name]
    return Contest(f"proxy/{name}/{chunk}", f"a proxy on a ring in chunks of {chunk}",
                   f"workload=proxy engine=ring read={read} write={write} chunk={chunk} window=256 "
                   "nodelay=off", BANDWIDTH, (Against("liburing", 1.0),), places=(APART,),
                   every=SELDOM)


def raw_contest(depth: str) -> Contest:
    """The cost of framing: the same bytes by the same calls, without a protocol."""
    shared = f"workload=request depth={depth} reply_write=writev"
    return Contest(f"nbd/raw/{depth}", f"reads of 4 KiB by NBD next to bare bytes, depth {depth}",
                   f"protocol=nbd op=read:4K {shared}", RATE,
                   (Against("uncork, raw", 0.95, words=f"message=28 reply=16+4K {shared}"),),
                   every=SELDOM)


def libnbd_contest(depth: str) -> Contest:
    """Two clients of the same server."""
    return Contest(f"nbd/libnbd/{depth}", f"reads of 4 KiB from nbdkit, depth {depth}",
                   f"protocol=nbd op=read:4K workload=request depth={depth} subject=nbdkit", RATE,
                   (Against("libnbd", 1.0),), every=SELDOM)


def write_contest(write: str) -> Contest:
    """A strategy next to the same calls in a bare loop: what its harness costs."""
    return Contest(f"write/{write}", f"a request of two fragments, 16+64, by write={write}",
                   f"workload=request message=16+64 reply=1 write={write}", RATE,
                   (Against("floor", 0.97),))


SERVED = {
    "copy": ("nbdcopy of 256 MiB", "load=nbdcopy", BANDWIDTH),
    "read-4k": ("reads of 4 KiB by fio, 16 in flight",
                "load=fio fio.rw=randread fio.bs=4k fio.iodepth=16", RATE),
    "read-64k": ("reads of 64 KiB by fio, 16 in flight",
                 "load=fio fio.rw=read fio.bs=64k fio.iodepth=16", RATE),
}


def served_contest(name: str, transport: str) -> Contest:
    """Two servers of the same client: uncork-server --serve nbd, and nbdkit."""
    says, load, metric = SERVED[name]
    return Contest(f"serve/{name}/{transport}", f"{says} from our server, {transport}",
                   f"workload=command {load} transport={transport}", metric,
                   (Against("nbdkit", 0.95),), places=(APART,), every=SELDOM)


def tls_contest(security: str) -> Contest:
    """How much of a cipher's own speed reaches the wire."""
    return Contest(
        f"tls/{security}", f"a stream of 64 KiB under {security}, AES-128-GCM",
        f"workload=stream message=64K chunk=64K security={security} cipher=aes-128-gcm", BANDWIDTH,
        (Against("openssl-speed", differs="`openssl speed` only encrypts, in memory. A stream also "
                                          "decrypts, and passes a socket."),), every=SELDOM)


REQUEST = "workload=request message=1 reply=1"
RING = "engine=ring read=uring-multishot write=uring-send reply_write=uring-send"


def calls_figures(client: float, server: float) -> tuple[Figure, ...]:
    """System calls for each message, of both ends."""
    return (Figure("syscalls_per_message", client), Figure("server_syscalls_per_message", server))


CONTESTS = {contest.name: contest for contest in (
    Contest("request", "request and reply of 1 byte, 1 connection", REQUEST, RATE,
            (Against("floor", 0.97, 0.975), Against("netperf")), places=BOTH,
            pairs=(("netperf", "floor"),)),
    Contest("request-14", "the same with 14 bytes, the least that sockperf sends",
            "workload=request message=14 reply=14", RATE, (Against("sockperf"),)),
    Contest("request-poll", "request and reply of 1 byte in the poll engine: three calls a side",
            f"{REQUEST} engine=poll", RATE, (Against("floor"), Against(BLOCK, words=REQUEST))),
    Contest("request-ring", "request and reply of 1 byte by a ring: one enter a side",
            f"{REQUEST} {RING}", RATE, (Against(BLOCK, words=REQUEST),),
            calls_figures(1.05, 1.05)),
    Contest("stream-64", "stream of 64-byte messages, received in 64 KiB",
            "workload=stream message=64 chunk=64K", BANDWIDTH, (Against("floor", 0.95),),
            places=BOTH),
    Contest("stream-64-64", "the same, received in 64 bytes",
            "workload=stream message=64 chunk=64", BANDWIDTH, (Against("floor", 0.95),),
            (Figure("segments_per_message"), Figure("server_syscalls_per_message"))),
    Contest("stream-64-poll",
            "the same, and the receiver waits by a call before each read, as iperf3 selects; from "
            "the first byte, for a drained warm-up may put this receiver to sleep",
            "workload=stream message=64 chunk=64 server.engine=poll", BANDWIDTH,
            (Against("floor"), Against("iperf3", 1.0),
             Against(BLOCK, words="workload=stream message=64 chunk=64")),
            (Figure("segments_per_message"), Figure("server_syscalls_per_message")), warms=False),
    Contest("stream-64K", "stream of 64 KiB, received in 64 KiB",
            "workload=stream message=64K chunk=64K", BANDWIDTH, (Against("floor", 0.97),),
            places=BOTH),
    Contest("stream-64K-poll", "the same, and the receiver waits by a call before each read",
            "workload=stream message=64K chunk=64K server.engine=poll", BANDWIDTH,
            (Against("iperf3", 1.0, differs="iperf3 selects once for 64 KiB, uncork waits before "
                                            "each read, which may take fewer bytes."),)),
    Contest("stream-64K-400K",
            "the same with a receive buffer of 400 KiB; else the kernel tunes it",
            "workload=stream message=64K chunk=64K rcvbuf=400K", BANDWIDTH,
            (Against("floor", 0.97),)),
    Contest("request-1000", "request and reply of 1 byte, 1000 connections, a thread a side",
            f"{REQUEST} engine=poll connections=1000", RATE, (Against("neper", 1.1),),
            places=BOTH),
    Contest("request-1000-ring", "the same by a ring",
            f"{REQUEST} {RING} connections=1000", RATE,
            (Against("neper", 1.3, differs="neper waits by epoll; it has no ring."),)),
    Contest("calls-64", "calls per request, poll engine, 64 connections",
            f"{REQUEST} engine=poll connections=64", RATE, figures=calls_figures(2.1, 2.1)),
    Contest("null-request", "the harness alone: calls that return at once, request and reply",
            f"transport=null {REQUEST}", TIME, figures=(Figure(TIME, 45e-9),)),
    Contest("null-stream", "the harness alone: calls that return at once, stream",
            "transport=null workload=stream message=64", TIME, figures=(Figure(TIME),)),
    *(write_contest(write) for write in ("nodelay", "more", "cork", "writev", "coalesce")),
    *(proxy_contest(name, chunk) for name in PROXIES for chunk in ("32", "4K")),
    *(raw_contest(depth) for depth in ("1", "16")),
    *(libnbd_contest(depth) for depth in ("1", "64")),
    *(served_contest(name, transport) for name in SERVED for transport in ("unix", "tcp")),
    *(tls_contest(security) for security in ("gnutls", "openssl")),
)}


def contests_named(name: str) -> list[str]:
    """The contests with this name, or all below it: `proxy` are those of all proxies."""
    return [one for one in CONTESTS if one == name or one.startswith(f"{name}/")]
