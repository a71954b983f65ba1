# SPDX-License-Identifier: MIT
"""Many connections: what they take, and what is said where the system does not allow them."""

from __future__ import annotations

import os
import re
import resource
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from combinations import LIBRARIES
from control import Channel, plan_send
from programs import (
    BIN,
    CLIENT,
    SANITIZED,
    client_json,
    client_run,
    client_start,
    record_ok,
    record_sum,
    ring_trouble,
    server_started,
)

RING = ["connections=300 engine=ring read=uring-multishot"] if ring_trouble() is None else []

VERSION = client_json("--list=json")[0]["uncork"]
MANY = 2000 if "tsan" in CLIENT.parts else 10000  # a busy machine stalls ThreadSanitizer
DESCRIPTORS = MANY + 100  # of each end, and a few for everything else
KIB = 1024


def descriptors_trouble() -> str | None:
    """Why ten thousand connections cannot be had here, None if they can."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < DESCRIPTORS:
        return f"{hard} open files are allowed, {DESCRIPTORS} are needed"
    return None


def namespace_trouble() -> str | None:
    """Why a test cannot have a network of its own, None if it can."""
    if not shutil.which("unshare") or not shutil.which("ip"):
        return "unshare or ip is not installed"
    tried = subprocess.run(["unshare", "-n", "ip", "link", "set", "lo", "up"], capture_output=True,
                           text=True)
    return f"no network namespace: {tried.stderr.strip()}" if tried.returncode else None


NAMESPACE_TROUBLE = namespace_trouble()


def allowing(soft: int, hard: int):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_many_connections_carry_their_content_in_less_than_8_kib_each() -> None:
    if trouble := descriptors_trouble():
        pytest.skip(trouble)
    record = record_ok(
        f"connections={MANY} message=64 messages={3 * MANY} verify=on place=free warmup=0s")
    client, server = record["client"], record["server"]
    assert (client["engine"], server["engine"]) == ("poll", "poll")
    assert record_sum(client, "connections") == record_sum(server, "connections") == MANY
    assert record_sum(server, "bytes_received") == 3 * MANY * 64
    if "release" in BIN.parts:  # a sanitizer has memory of its own
        assert client["resident_bytes"] - client["resident_before_bytes"] < MANY * 8 * KIB


def test_on_one_cpu_the_message_says_how_to_place_both_ends_there() -> None:
    one = {min(os.sched_getaffinity(0))}
    done = client_run("messages=10", preexec_fn=lambda: os.sched_setaffinity(0, one))
    (line,) = done.stderr.splitlines()
    assert "place=apart needs two cores" in line and "write place=together" in line
    assert client_run("messages=10", "place=together",
                      preexec_fn=lambda: os.sched_setaffinity(0, one)).returncode == 0


def test_a_low_soft_limit_of_open_files_is_raised() -> None:
    process = client_start("connections=300", "messages=300", "place=free",
                           preexec_fn=allowing(100, 1000))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "300 connections" in out


@pytest.mark.parametrize("words",
                         [["connections=5000"], ["connections=5000", "engine=block",
                                                 "server=127.0.0.1:9"]])
def test_too_few_open_files_are_refused_with_the_command_that_allows_them(words: list[str]) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 1000:
        pytest.skip("fewer than 1000 open files are allowed here already")
    command = ["setpriv", "--bounding-set", "-sys_resource", "--inh-caps",
               "-sys_resource"] if shutil.which("setpriv") else []
    done = subprocess.run([*command, str(CLIENT), *words, "messages=10", "place=free"],
                          capture_output=True, text=True,
                          preexec_fn=allowing(200, 1000), timeout=60)
    if done.returncode == 0:
        pytest.skip("this user may raise the hard limit, and the client did")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "open files" in line and "prlimit --pid $$ --nofile=" in line


@pytest.mark.skipif(SANITIZED, reason="a sanitizer reserves address space of its own")
def test_a_thread_without_room_for_its_stack_blames_the_limit_of_memory() -> None:
    room = 256 << 20  # of stacks that have 8 MiB each, or what ulimit -s says
    done = client_run("connections=200", "engine=block", "messages=200", "place=free",
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (room, room)))
    (line,) = done.stderr.splitlines()
    assert re.search(r"cannot start thread \d+ of 200: there is no room for its stack of \d+M",
                     line)
    assert f"ulimit -v is {room // 1024}" in line and "ulimit -u" not in line


@pytest.mark.parametrize(("words", "says"), [
    ("protocol=nbd op=read:4K depth=65536 connections=10000",
     "the client needs 52G of memory for 10000 connections, and 8G is the limit of an end: "
     "reduce connections= or depth="),
    ("protocol=nbd op=read:32M depth=4096",
     "depth=4096 with connections=1 is 129G in flight, and 64G is the limit: reduce connections=, "
     "depth= or the size of a request")])
def test_a_plan_of_more_memory_than_an_end_may_have_starts_nothing(words: str, says: str) -> None:
    done = client_run("server=127.0.0.1:9", *words.split())  # no server listens there
    assert done.returncode == 1 and done.stderr == f"uncork-client: unsupported: {says}\n"
    with server_started() as server:
        answer = plan_send(Channel(server.address), VERSION, *words.split())
        assert (answer["type"], answer["kind"]) == ("refused", "unsupported")
        assert re.search(r"\d+G is the limit", answer["text"])


@pytest.mark.skipif(NAMESPACE_TROUBLE is not None, reason=str(NAMESPACE_TROUBLE))
def test_the_memory_of_a_control_group_is_a_limit_and_the_refusal_names_it(tmp_path: Path) -> None:
    """In a mount namespace of its own, where a folder stands for the root of control groups."""
    (tmp_path / "memory.max").write_text(f"{100 << 20}\n")
    inside = (f"mount --make-rprivate /sys && mount --bind {tmp_path} /sys/fs/cgroup && "
              f"exec {CLIENT} connections=200 chunk=1M engine=block server=127.0.0.1:9")
    # By default unshare(1) changes the propagation of /, which fails where / is no mount (chroot).
    done = subprocess.run(["unshare", "--mount", "--propagation", "unchanged", "sh", "-c", inside],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and re.search(
        r"the client needs \d+M of memory for 200 connections, and 100M is memory.max of its "
        r"control group: reduce", done.stderr), done.stderr


def memory_in_use(pid: int) -> int:
    """Bytes of address space."""
    size = re.search(r"^VmSize:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert size
    return int(size[1]) * KIB


@pytest.mark.skipif(SANITIZED, reason="a sanitizer ends a program without memory")
@pytest.mark.parametrize("words", ["connections=2000 engine=poll", "connections=60 engine=block",
                                   "connections=500 engine=poll depth=64 op=read:4K protocol=nbd",
                                   "message=60000x1 window=64 write=coalesce",
                                   *(f"connections=50 security={name}" for name in LIBRARIES[:1]),
                                   *RING])
def test_a_server_without_memory_refuses_a_run_and_serves_the_next(words: str) -> None:
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    run = ["messages=2000", "warmup=0s", "place=free"]
    with server_started() as server:
        assert client_run(f"server={server.address}", *run).returncode == 0
        used = memory_in_use(server.pid)
        for room in (0, 32 * KIB, 512 * KIB, 8 << 20, 24 << 20):
            resource.prlimit(server.pid, resource.RLIMIT_AS, (used + room, unlimited[1]))
            done = client_run(f"server={server.address}", *run, *words.split(), within_s=30)
            resource.prlimit(server.pid, resource.RLIMIT_AS, unlimited)
            assert server.process.poll() is None, f"{room}: it has ended"
            assert done.returncode in (0, 1) and done.stderr.count("\n") <= 1, done.stderr
            assert done.returncode == 0 or room > 8 << 20 or done.stderr, room
        assert client_run(f"server={server.address}", *run, *words.split()).returncode == 0


@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is not installed")
def test_threads_in_blocking_calls_are_not_asked_for_the_files_of_loops() -> None:
    count = 60 if "tsan" in CLIENT.parts else 200  # two threads for each
    done = subprocess.run(["setpriv", "--bounding-set", "-sys_resource", "--inh-caps",
                           "-sys_resource", str(CLIENT),
                           f"connections={count}", "engine=block", f"messages={count}", "warmup=0s",
                           "place=free"],
                          capture_output=True, text=True, timeout=60,
                          preexec_fn=allowing(count, count * 15 // 2))
    assert done.returncode == 0, done.stderr


def in_namespace(ports: str, *words: str, before: str = "true") -> subprocess.CompletedProcess[str]:
    """The client in a network of its own that has these local ports."""
    script = (f'ip link set lo up && sysctl -qw net.ipv4.ip_local_port_range="$1" && {before} && '
              'shift && exec "$@"')
    return subprocess.run(["unshare", "-n", "sh", "-c", script, "sh", ports, str(CLIENT), *words],
                          capture_output=True, text=True, timeout=60)


@pytest.mark.skipif(NAMESPACE_TROUBLE is not None, reason=str(NAMESPACE_TROUBLE))
def test_more_connections_than_local_ports_are_refused_with_the_sysctl() -> None:
    done = in_namespace("40000 40099", "connections=101", "messages=200", "place=free")
    assert done.returncode == 1
    assert 'sysctl -w net.ipv4.ip_local_port_range="1024 65535"' in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(NAMESPACE_TROUBLE is not None, reason=str(NAMESPACE_TROUBLE))
@pytest.mark.parametrize(("words", "before"), [
    (["connections=100"], "true"),  # connections of the server and of control take some ports
    (["workload=connect"], "sysctl -qw net.ipv4.tcp_tw_reuse=0")])
def test_local_ports_that_run_out_are_no_mystery(words: list[str], before: str) -> None:
    done = in_namespace("40000 40099", *words, "messages=500", "place=free", before=before)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert re.search(
        r"no local port of 40000 to 40099 is free, and \d+ closed connections are in TIME_WAIT",
        line)
    assert "sysctl -w net.ipv4.tcp_tw_reuse=1" in line


def test_a_server_that_nobody_needs_any_more_ends_and_says_so() -> None:
    for _ in range(10):  # on a busy machine it may have ended before we come
        with server_started("127.0.0.1:0", "--idle", "1s") as server:
            try:
                connection = socket.create_connection(("127.0.0.1", server.ready["port"]))
            except ConnectionRefusedError:
                continue
            with connection:
                time.sleep(1.5)
                assert server.process.poll() is None, "somebody is there"
            assert server.process.wait(60) == 0
            assert server.process.stderr
            assert "no client for 1 s: it ends because of --idle" in server.process.stderr.read()
            return
    raise AssertionError("it never waited for anybody")
