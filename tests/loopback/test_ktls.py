# SPDX-License-Identifier: MIT
"""TLS by the kernel carries every byte, by each strategy and engine, with each library at the other
end.

Most kernels of virtual machines have none: `scripts/test kernels` runs this file in a guest whose
kernel has it.
"""

from __future__ import annotations

from itertools import cycle, product

import pytest

from combinations import COMMON, cells_run, names
from pairwise import Row, pairwise_rows
from programs import batch_run, client_json, record_ok, record_sum, records_ok


def unsupported(cells: list[str]) -> list[str | None]:
    """Why each of these cannot be run here, None if it can."""
    checked = client_json("--check", "-", stdin="\n".join(cells) + "\n")[:-1]
    return [check.get("unsupported") for check in checked]


(TROUBLE,) = unsupported(["security=ktls"])
with_ktls = pytest.mark.skipif(TROUBLE is not None, reason=str(TROUBLE))

# Strategies of the kernel's TLS by the records that they make of 16+4K, and engines by which each
# goes.
RECORDS = {"nagle": 2, "nodelay": 2, "cork": 2, "more": 1, "writev": 1, "coalesce": 1,
           "sendfile": 1}
RECORDS_OF_RING = {"uring-sendmsg": 1, "uring-ring": 2}
PLANNED = [*product(RECORDS, ["block", "poll", "ring"]), *product(RECORDS_OF_RING, ["ring"])]
WAYS = [way for way, why in zip(PLANNED,
                                unsupported([f"write={write} engine={engine}"
                                             for write, engine in PLANNED]), strict=False)
        if not why]  # as far as this kernel has them without TLS
LIBRARIES = [name for name in names("security") if name not in ("plain", "ktls")]
ENDS = [("ktls", "ktls"),
        *(ends for library in LIBRARIES for ends in (("ktls", library), (library, "ktls")))]

OTHERS = {
    "shape": ["request", "stream send", "stream receive", "stream both", "connect", "proxy"],
    "message": ["1", "15x2", "16+4K", "32/2x4K/2x4K", "1M"],
    "reply": ["1", "16+4K", "5/3x700"],
    "read": ["recv", "uring-multishot", "uring-bundle"],
    "chunk": ["64K", "4099"],
    "sndbuf": ["default", "4K"],
    "rcvbuf": ["default", "4K"],
    "connections": ["1", "3"],
    "depth": ["1", "16"],
    "window": ["1", "3"],
    "cipher": ["aes-128-gcm", "chacha20-poly1305"],
    "handshake": ["psk-ecdhe", "psk"],
}


def test_a_run_is_by_the_kernel_or_says_why_it_cannot_be() -> None:
    (record,) = batch_run(["security=ktls messages=1 place=free"])
    if TROUBLE:
        assert TROUBLE.startswith("security=ktls") and ("kernel" in TROUBLE
                                                        or "this build" in TROUBLE)
        assert (record["status"], record["reason"]) == ("unsupported", TROUBLE)
    else:
        assert (record["status"], record["server"]["security"]) == ("ok", "ktls")


def cell(ends: tuple[str, str], write: str, engine: str, row: Row) -> Row:
    """The strategy at the ends that have ktls, and what agrees with these of a row of other
    words."""
    client, server = ends
    workload, _, direction = row["shape"].partition(" ")
    words = {"client.security": client, "server.security": server, "workload": workload,
             "engine": engine}
    words |= {"write": write if client == "ktls" else "nodelay",
              "reply_write": write if server == "ktls" else "nodelay"}
    words |= {key: value for key, value in row.items() if key not in ("shape", "read")}
    if direction:
        words["direction"] = direction
    if direction == "receive":
        words["write"], words["reply_write"] = words["reply_write"], words["write"]
    if workload == "proxy":
        words |= {"proxy.security": "ktls", "write": write, "direction": "send"}
    if engine == "block":
        words |= {"depth": "1", "workload": "request" if "connect" in workload
                  or direction == "both" else workload}
        words |= {"threads": words["connections"]}
    if engine == "ring" and workload != "connect":
        words |= {f"{end}.read": row["read"]
                  for end, has in zip(("client", "server"), ends, strict=False)
                  if has == "ktls"}
    return words | COMMON | {"verify": "on", "warmup": "0s"}


def cells() -> list[Row]:
    """Each strategy by each engine with each pair of ends; every two of the other words meet."""
    rows = cycle(pairwise_rows(OTHERS))
    return [cell(ends, write, engine, next(rows)) for (write, engine), ends in product(WAYS, ENDS)]


@with_ktls
def test_every_strategy_by_every_engine_carries_its_bytes_whole(tally) -> None:
    ran = {(words[key], words["engine"]) for words in cells_run(cells(), tally)
           for key in ("write", "reply_write")}
    assert {*WAYS} <= ran


@with_ktls
@pytest.mark.parametrize("direction", ["send", "receive", "both"])
def test_a_mebibyte_goes_whole_through_the_smallest_buffers(direction: str) -> None:
    """What the kernel has taken may leave late: a half-close of the socket would lose it."""
    lines = [
        f"security=ktls workload=stream direction={direction} message=1M messages=1 sndbuf=4K "
        f"rcvbuf=4K write={write} engine={engine} verify=on warmup=0s place=free"
        for write, engine in (("nodelay", "poll"), ("uring-sendmsg", "ring"))
        if (write, engine) in WAYS]
    records_ok(lines)


@with_ktls
def test_a_send_makes_a_record_and_msg_more_adds_to_it() -> None:
    """Counted where a library receives; the kernel counts none, and nothing is said of its own."""
    writes = {write: records for write, records in (RECORDS | RECORDS_OF_RING).items()
              if write in dict(WAYS)}
    lines = ["client.security=ktls server.security=gnutls workload=stream message=16+4K "
             f"messages=50 write={write} warmup=0s place=free"
             for write in writes]
    for write, record in zip(writes, records_ok(lines), strict=True):
        assert record_sum(record["server"], "records_received") == 50 * writes[write], write
        assert not any("records_sent" in thread or "tls_bytes_sent" in thread
                       for thread in record["client"]["threads"])


@with_ktls
@pytest.mark.parametrize("engine", ["poll", "ring"])
def test_a_ticket_that_the_kernel_receives_is_used(engine: str) -> None:
    record = record_ok(
        f"security=ktls workload=connect handshake=ticket messages=10 engine={engine} place=free")
    assert (
        record_sum(record["client"], "resumed") == record_sum(record["client"], "handshakes") == 10
    )
    assert record["client"]["threads"][0]["options"]["key_exchange"] == "ticket"


CANNOT = {
    "write=uring-send": "MSG_WAITALL is refused",
    "write=uring-zc": "the kernel's TLS has no",
    "write=zerocopy": "the kernel's TLS has no",
    "read=zerocopy": "the kernel's TLS",
    "write=uring-bundle": "the kernel's TLS has no",
    "write=uv": "libuv",
    "write=cork:record": "no record layer",
    "read=msgtrunc": "the kernel's TLS",
    "workload=connect read=uring-multishot": "bytes of the TLS handshake",
    "transport=unix": "does not take the keys",
    "cipher=aes-256-gcm": "SHA-384",
}


@with_ktls
def test_what_the_kernel_cannot_do_with_tls_is_unsupported_and_says_why() -> None:
    without = unsupported(list(CANNOT))
    reasons = unsupported([f"security=ktls {words}" for words in CANNOT])
    for (words, why), reason, anyway in zip(CANNOT.items(), reasons, without, strict=True):
        assert anyway or (reason and why in reason), f"{words}: {reason}"
