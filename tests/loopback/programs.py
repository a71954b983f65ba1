# SPDX-License-Identifier: MIT
"""The two programs under test, and how to drive them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("UNCORK_BIN", TOP / "build/release/bin")).absolute()
# slower by far: tests that repeat do so less often
SANITIZED = bool({"asan", "tsan"} & {*BIN.parts})
# of a server that has checked a plan, by four threads of libuv; ThreadSanitizer has one more
IDLE_TASKS = 6 if "tsan" in BIN.parts else 5
# 5 s, and what it takes to start and end processes on a machine that others use too
WITHIN_S = 12.0 if SANITIZED else 8.0
# LeakSanitizer cannot look for leaks in a program that is traced.
TRACED = os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}
CLIENT = BIN / "uncork-client"
SERVER = BIN / "uncork-server"


def preloaded(folder: Path, source: str) -> dict[str, str]:
    """The environment of a program for which a library of this C text answers some calls."""
    if SANITIZED:
        pytest.skip("a sanitizer must be the first library that is loaded")
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    library = folder / "preloaded.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-o", library, "-", "-ldl"], check=True,
                   input=source, text=True)
    return os.environ | {"LD_PRELOAD": str(library)}


def client_start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """The client under way, its output piped."""
    return subprocess.Popen([str(CLIENT), *arguments], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **options)


class Ending:
    """A client that is about to end, with what it says and how long it took: several can do so at
    once."""

    def __init__(self, client: subprocess.Popen[str]) -> None:
        self.client = client
        self._began = time.monotonic()
        self._pool = ThreadPoolExecutor(1)
        self._said = self._pool.submit(self._listen)

    def _listen(self) -> tuple[str, str, float]:
        out, error = self.client.communicate(timeout=20)
        return out, error, time.monotonic() - self._began

    def awaited(self) -> tuple[str, str, float]:
        """Standard output, standard error and seconds, when it has ended."""
        self._pool.shutdown()
        return self._said.result()


def client_run(
    *arguments: str, stdin: str = "", within_s: float = 120, **options: Any
) -> subprocess.CompletedProcess[str]:
    """The client from beginning to end."""
    return subprocess.run([str(CLIENT), *arguments], input=stdin, capture_output=True, text=True,
                          timeout=within_s, **options)


def client_json(*arguments: str, stdin: str = "", within_s: float = 300,
                **options: Any) -> list[dict[str, Any]]:
    """The lines that the client printed, parsed; it must end well."""
    done = client_run(*arguments, stdin=stdin, within_s=within_s, **options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def batch_run(lines: list[str], within_s: float = 300, **options: Any) -> list[dict[str, Any]]:
    """A record for each line; the batch must come to its end."""
    *records, end = client_json("--batch", "-", stdin="\n".join(lines) + "\n", within_s=within_s,
                                **options)
    assert end == {"end": len(lines)}
    assert len(records) == len(lines)
    return records


def records_ok(lines: list[str], **options: Any) -> list[dict[str, Any]]:
    """The records of runs all of which must go well."""
    records = batch_run(lines, **options)
    for text, record in zip(lines, records, strict=True):
        assert record["status"] == "ok", f"{text}: {record['reason']}"
    return records


def record_ok(words: str, **options: Any) -> dict[str, Any]:
    """The record of a run that must go well."""
    return records_ok([words], **options)[0]


def stands_still(text: str, record: dict[str, Any]) -> bool:
    """Whether the kernel left bytes in an MPTCP socket. Linux 6.18 does so now and then: in 3 of
    1000 streams of 9000 one-byte sends every subflow had sent all that it was given and nothing was
    on its way, while MPTCP's own queue held 3 KB."""
    return "transport=mptcp" in text and record[
        "status"] == "failed" and "has sent and received nothing" in record["reason"]


def batch_run_again(lines: list[str], again: Callable[[str], None]) -> list[dict[str, Any]]:
    """As batch_run, but runs over MPTCP that stood still have a second try, of which `again` is
    told."""
    records = batch_run(lines)
    still = [i for i, (text, record) in enumerate(zip(lines, records, strict=True))
             if stands_still(text, record)]
    if still:
        for i, record in zip(still, batch_run([lines[i] for i in still]), strict=True):
            again(lines[i])
            records[i] = record
    return records


def trouble(words: str) -> str | None:
    """Why these words cannot be run here, None if they can."""
    (check,) = client_json("--check", "-", stdin=f"{words}\n")[:-1]
    return check.get("unsupported")


def ring_trouble() -> str | None:
    """Why nothing can be tested with an io_uring here."""
    return trouble("write=uring-bundle read=uring-multishot")


def pattern(size: int = 65521) -> bytes:
    """What both ends know and verify=on sends (common/connection/source.c)."""
    state, period = 0x9E3779B97F4A7C15, bytearray()
    for _ in range(65521):
        state ^= state << 13 & (1 << 64) - 1
        state ^= state >> 7
        state ^= state << 17 & (1 << 64) - 1
        period.append(state >> 32 & 255)
    return bytes(period * (size // 65521 + 1))[:size]


def port_free() -> int:
    """A TCP port on which no program listens at this moment."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def received(connection: socket.socket, size: int) -> bytes:
    """So many bytes; ConnectionError if the other end closes before."""
    data = bytearray()
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError(f"{len(data)} of {size} bytes came")
        data += part
    return bytes(data)


@dataclass(frozen=True)
class Server:
    """A server that listens at `address`, as the word server= takes it."""

    process: subprocess.Popen[str]
    ready: dict[str, Any]

    @property
    def address(self) -> str:
        host = self.ready["address"]
        return f"{host}:{self.ready['port']}" if "port" in self.ready else host

    @property
    def pid(self) -> int:
        return self.process.pid

    def ended(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ends it by a signal and gives its status. ThreadSanitizer keeps signals back for a safe
        moment. One that comes just before epoll_wait(2) waits for the next: a second is sent."""
        self.process.send_signal(number)
        if "tsan" in BIN.parts:
            try:
                return self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.send_signal(number)
        return self.process.wait(20)


def server_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A server that ends by itself: its command line is wrong, or a port is taken."""
    return subprocess.run([str(SERVER), *arguments], capture_output=True, text=True, timeout=20)


@contextmanager
def server_started(listen: str = "127.0.0.1:0", *flags: str,
                   environment: dict[str, str] | None = None) -> Iterator[Server]:
    """A server that is ready; ended, if the test has not done so, and required to end well when
    told to. Its sandbox must not have forbidden a call."""
    process = subprocess.Popen([str(SERVER), "--listen", listen, *flags], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout
        line = process.stdout.readline()
        assert line, process.stderr.read() if process.stderr else ""
        server = Server(process, json.loads(line)["ready"])
        yield server
        if process.poll() is None:
            status = server.ended()
            said = process.stderr.read() if process.stderr and not process.stderr.closed else ""
            assert status == 0 and "the sandbox forbids" not in said, said
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def log_of(server: Server) -> str:
    """What a server has logged when it was told to end, without what only this machine is told."""
    server.process.terminate()
    lines = server.process.communicate(timeout=20)[1].splitlines(keepends=True)
    return "".join(line for line in lines if "is not cubic here" not in line)


def cpu_seconds(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def busy(*pids: int) -> None:
    """Waits until servers have data threads, and then until these work: what a server used before
    was its start."""
    for pid in pids:
        began = None
        for _ in range(1000):
            if began is None and len(os.listdir(f"/proc/{pid}/task")) > IDLE_TASKS:
                began = cpu_seconds(pid)
            if began is not None and cpu_seconds(pid) > began + 0.03:
                break
            time.sleep(0.01)
        else:
            raise AssertionError("the run never began")


def children_of(pid: int, count: int = 1) -> list[int]:
    """The programs that a client has started, when there are that many."""
    for _ in range(500):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if len(children) == count:
            return [*map(int, children)]
        time.sleep(0.01)
    raise AssertionError(f"{children} are the children, {count} were to come")


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def settled(pid: int, files: int, within_s: float = WITHIN_S) -> None:
    """Waits until a server has as few descriptors as before."""
    for _ in range(int(within_s * 100)):
        if open_files(pid) <= files:
            return
        time.sleep(0.01)
    raise AssertionError(f"{open_files(pid)} descriptors are open, {files} were before")


def strace_trouble() -> str | None:
    """Why strace cannot be used here, None if it can."""
    if not shutil.which("strace"):
        return "strace is not installed"
    tried = subprocess.run(["strace", "-c", "true"], capture_output=True, text=True)
    return None if tried.returncode == 0 else ("strace does not work here: "
                                               f"{tried.stderr.strip().splitlines()[0]}")


# For strace: by which calls a loop of libuv waits, and changes what it watches. libuv 1.45 and
# newer makes the second of each. "?": not every processor has this call.
LOOP_WAITS = "?epoll_wait,?epoll_pwait"
LOOP_CHANGES = "epoll_ctl,io_uring_enter"


def as_recorded(trace: str) -> str:
    """A trace of strace, in which waits of libuv have the name that they have in a record."""
    return re.sub(r"^epoll_pwait\(", "epoll_wait(", trace, flags=re.MULTILINE)


def strace_run(calls: str, *words: str) -> tuple[list[str], dict[str, Any]]:
    """Runs the client under strace: what each thread called, of all that it starts too, and the
    record."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["strace", "-ff", "-o", f"{folder}/trace", "-e", f"trace={calls}",
                               str(CLIENT), "--json", *words], capture_output=True, text=True,
                              timeout=120, env=TRACED)
        assert done.returncode == 0, done.stderr
        traces = [path.read_text(errors="replace") for path in Path(folder).iterdir()]
    return [as_recorded(trace) for trace in traces], json.loads(done.stdout)


def calls_counted(*traces: str) -> Counter[str]:
    """How often each call stands in traces."""
    return Counter(re.findall(r"^(\w+)\(", "\n".join(traces), re.MULTILINE))


def record_sum(end: dict[str, Any], key: str) -> int:
    """Sum of a count over the threads of an end."""
    return sum(thread.get(key, 0) for thread in end["threads"])
