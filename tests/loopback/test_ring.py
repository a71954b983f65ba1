# SPDX-License-Identifier: MIT
"""The engine with an io_uring: what it counts, what it is set up with, and a system that has
none."""

from __future__ import annotations

import ctypes
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from programs import CLIENT, batch_run, client_json, client_run, record_ok, records_ok, ring_trouble

MESSAGES = 200
# A sender that gets no CPU for longer than an RTO starts again with a small congestion window,
# and joins segments.
TRIES = 3
ALONE = "warmup=0s place=free verify=on reply=2"
LONE = f"{ALONE} message=15x2"


TROUBLE = ring_trouble()
needs_ring = pytest.mark.skipif(TROUBLE is not None, reason=str(TROUBLE))


def figures(record: dict, end: str) -> tuple[int, int, int]:
    (thread,) = record[end]["threads"]
    return thread["enters"], thread["requests"], thread["completions"]


@needs_ring
@pytest.mark.parametrize("write", ["uring-sendmsg", "uring-bundle"])
@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_a_request_is_one_enter_one_request_and_one_completion_on_each_side(
    transport: str, write: str
) -> None:
    record = record_ok(f"{LONE} transport={transport} write={write} reply_write={write} "
                       f"read=uring-multishot messages={MESSAGES}")
    # where the end is asked for by itself, and the receive then begun again
    twice = transport == "unix"
    begun = 1 + twice  # the receive that goes on
    assert figures(record, "client") == (MESSAGES, MESSAGES + begun, MESSAGES)
    end = 1  # the half-close is waited for, and completes
    least = MESSAGES + end, MESSAGES + begun, MESSAGES + end
    assert all(low <= count <= low + 3 * twice
               for count, low in zip(figures(record, "server"), least, strict=True))


@needs_ring
def test_fifteen_linked_sends_are_fifteen_requests_and_one_enter() -> None:
    # or the first ones wait together for a window of congestion
    warm = LONE.replace("warmup=0s", "warmup=20ms")
    line = f"{warm} write=uring-send client.read=uring-multishot messages={MESSAGES}"
    segments = []
    for _ in range(TRIES):
        record = record_ok(line)
        assert figures(record, "client") == (MESSAGES, 15 * MESSAGES, MESSAGES)
        segments.append(record["client"]["threads"][0]["tcp_info"]["data_segs_out"]["sum"])
        if segments[-1] == 15 * MESSAGES:
            break
    assert segments[-1] == 15 * MESSAGES, segments


@needs_ring
def test_groups_that_must_not_be_joined_are_a_request_each() -> None:
    record = record_ok(f"{ALONE} message=32/2x4K write=uring-bundle "
                       f"client.read=uring-multishot messages={MESSAGES}")
    _, requests, completions = figures(record, "client")
    assert requests == 2 * MESSAGES + 1
    assert completions == 2 * MESSAGES  # of the first send, and of what came back


@needs_ring
def test_a_proxy_begins_its_receive_again_for_a_window_of_buffers_and_not_for_each() -> None:
    window = 64
    record = record_ok("workload=proxy engine=ring read=uring-multishot write=uring-ring "
                       f"chunk=32 window={window} messages=20 warmup=0s place=free verify=on")
    (thread,) = record["proxy"]["threads"]
    receives = thread["requests"] - thread["chunks_sent"]  # those of both connections
    assert 0 < receives <= thread["chunks_sent"] / window + 8


@needs_ring
@pytest.mark.parametrize("write", ["uring-ring:4", "uring-bundle:4", "uring-bundle:1"])
@pytest.mark.parametrize("window", [1, 256])
def test_a_ring_smaller_than_a_message_has_fragments_carries_it_whole(
    write: str, window: int
) -> None:
    record_ok(f"workload=stream message=15x2/300x3 write={write} window={window} "
              "messages=300 verify=on warmup=0s place=free sndbuf=4K")


@needs_ring
@pytest.mark.parametrize("depth", [1, 2])  # of which the first asks for no completion
@pytest.mark.parametrize("message", ["258x63", "256x63+2x5000", "600x63/300x100"])
def test_a_bundle_of_more_buffers_than_the_kernel_takes_is_sent_whole_though_it_waits_for_room(
    message: str, depth: int
) -> None:
    record_ok(f"{ALONE} transport=unix client.sndbuf=4K message={message} "
              f"write=uring-bundle:1024 depth={depth} server.chunk=333 messages=20")


@needs_ring
def test_a_proxy_that_may_keep_more_than_a_ring_has_buffers_carries_all() -> None:
    record_ok("workload=proxy write=uring-bundle read=uring-bundle connections=40 "
              "window=1024 chunk=32 messages=80 verify=on warmup=0s place=free")


READS = ["uring-multishot", "uring-bundle", "uring-recvmsg"]


@needs_ring
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("chunk", ["1", "33", "100", "5000"])
def test_a_proxy_relays_what_a_ring_received_in_small_chunks(chunk: str, read: str) -> None:
    """Chunks that follow each other in memory are spans, and a span is cut where a group ends. Of
    one byte no chunk has a call of its own: 64 Ki of them take more than the 5 s in which a run
    has to move something, under ThreadSanitizer on a busy machine."""
    records_ok(
        [f"workload=proxy read={read} write={write} chunk={chunk} window={window} messages=2 "
         "verify=on warmup=0s place=free"
         for write in ("nodelay", "writev", "uring-bundle", "uring-sendmsg")
         for window in (4, 300) if chunk != "1" or (write != "nodelay" and window == 300)])


@needs_ring
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("switches", ["", "defer_taskrun=off"])
@pytest.mark.parametrize("transport", ["tcp", "unix"])
def test_an_end_that_came_before_the_receive_was_begun_again_is_seen(
    transport: str, switches: str, read: str
) -> None:
    """More arrives than there are buffers for, and then the end; the receive is begun again when
    both are there."""
    records_ok([f"workload=stream direction=receive transport={transport} message=64K "
                f"messages={messages} read={read} chunk=333 verify=on warmup=0s "
                f"place=free {switches}"
                for messages in (1, 2, 60, 60, 60, 60)])


@needs_ring
@pytest.mark.parametrize("words", [
    "defer_taskrun=off", "defer_taskrun=off single_issuer=off", "registered_ring=off",
    "fixed_files=off",
    "defer_taskrun=off single_issuer=off registered_ring=off fixed_files=off"])
def test_what_a_ring_is_set_up_with_can_be_switched_off(words: str) -> None:
    record = record_ok(f"{LONE} {words} write=uring-send reply_write=uring-bundle "
                       f"read=uring-bundle messages={MESSAGES}")
    assert all(word in [f"{key}={value}" for key, value in record["words"].items()]
               for word in words.split())


def test_words_of_a_ring_are_unused_without_one() -> None:
    (check,) = client_json("--check", "-", stdin="write=nodelay fixed_files=off engine=poll\n")[:-1]
    assert check["unused"] == ["fixed_files"]


# ---- a system without ----

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ALLOW, DENY = 0x7FFF0000, 0x00050000  # SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO
IO_URING_SETUP = 425  # the number of io_uring_setup(2) on every architecture


def without_ring(errno: int) -> Callable[[], None]:
    """Makes the calling process, and all that it starts, one for which io_uring_setup(2) fails:
    seccomp(2)."""
    program = b"".join(struct.pack("HBBI", *line) for line in (
        (0x20, 0, 0, 0),  # load the number of the call
        (0x15, 0, 1, IO_URING_SETUP),
        (0x06, 0, 0, DENY | errno),
        (0x06, 0, 0, ALLOW)))
    buffer = ctypes.create_string_buffer(program)
    # struct sock_fprog
    prog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer)))
    kept = buffer, prog
    libc = ctypes.CDLL(None, use_errno=True)

    def forbid() -> None:
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
            PR_SET_SECCOMP, SECCOMP_MODE_FILTER, kept[1]
        ):
            raise OSError(ctypes.get_errno(), "seccomp")

    return forbid


@pytest.mark.parametrize(("errno", "why"),
                         [(1, "a policy of this system forbids it"), (38, "built without it")])
def test_where_io_uring_is_forbidden_its_cells_are_unsupported_with_the_reason_and_all_others_run(
    errno: int, why: str
) -> None:
    lines = ["write=nodelay", "write=uring-bundle", "write=writev",
             "write=nodelay read=uring-multishot", "engine=ring"]
    records = batch_run([f"{line} messages=20 warmup=0s place=free" for line in lines],
                        preexec_fn=without_ring(errno))
    assert [record["status"] for record in records] == ["ok", "unsupported", "ok", "unsupported",
                                                        "unsupported"]
    for record in records:
        if record["status"] == "unsupported":
            assert why in record["reason"]


def test_where_io_uring_is_forbidden_the_list_says_so() -> None:
    done = client_run("--list=json", preexec_fn=without_ring(1))
    assert done.returncode == 0
    (listed,) = client_json("--list=json", preexec_fn=without_ring(1))
    strategies = {variant["name"]: variant for variant in listed["variants"]["strategy"]}
    assert "forbids it" in str(strategies["uring-bundle"])
    assert "forbids it" not in str(strategies["nodelay"])


def test_the_client_says_in_one_line_why_it_cannot() -> None:
    done = client_run("write=uring-zc", preexec_fn=without_ring(1))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "io_uring cannot be used here" in done.stderr


def test_where_the_sysctl_forbids_it_the_reason_names_the_sysctl(tmp_path: Path) -> None:
    """In a mount namespace of its own, where another file stands for the system's: that one stays
    as it is."""
    forbidden = tmp_path / "io_uring_disabled"
    forbidden.write_text("2\n")
    inside = (f"mount --bind {forbidden} /proc/sys/kernel/io_uring_disabled && exec {CLIENT} "
              "write=uring-send duration=10ms")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", inside], capture_output=True,
                          text=True, timeout=60, preexec_fn=without_ring(1))
    if "kernel.io_uring_disabled" not in done.stderr and "uncork-client" not in done.stderr:
        pytest.skip(f"no mount namespace can be made here: {done.stderr.strip()}")
    assert done.returncode == 1
    assert ("kernel.io_uring_disabled is 2; sysctl -w kernel.io_uring_disabled=0 allows it"
            in done.stderr)
