# SPDX-License-Identifier: MIT
"""Calls that fail, one after the other, in a server, a proxy and a client.

    injected.py [--sample N] [--json FILE] [CASE...]

A library in the program (injected.c) counts the calls of injected.def from the moment when it is
told to, and lets one of them fail. After each failure: the program has not crashed, it says one
line at most, the next session works, and descriptors and memory are as before. Prints a line for
each place with a fault, and a line of JSON with the totals of each program. The memory of a client
is the system's when it ends, so only that of servers and proxies is compared.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from programs import BIN, SERVER, WITHIN_S, client_start, open_files

HERE = Path(__file__).parent
NEVER = 1 << 40  # calls
FIELDS = ("pid", "left", "variant", "calls", "failed", "variants", "error", "blocks")
FRAMES = 24
SIZE = 8 * (len(FIELDS) + FRAMES)
ROWS = re.findall(r"^(?:BY_HAND\(|(?:SOCKET_)?CALL\([\w *]+, )(\w+)",
                  (HERE / "injected.def").read_text(), re.MULTILINE)
LINE = re.compile(r"uncork(-client|-server)?: .+\n")
# what a record leaves out where the system does not say it, or did not do it (docs/record.md), and
# what facts do
UNKNOWN = re.compile(
    r"machine\b|sysctl|resident|tcp_info|options|calls\.|process|cpu\.(system|user)_ns|mitigations|"
    r"migrations|device")
UNKNOWN_FACTS = re.compile(r"\.(?!versions)")
QUICK = "messages=3 warmup=0s place=free"
WORDS = {
    "block": "message=15x2/3",
    "poll": "engine=poll connections=2 write=coalesce",
    "ring": "engine=ring write=uring-bundle read=uring-multishot",
    "connect": "workload=connect engine=poll",
    "refused": "workload=connect server.engine=block",
    "gnutls": "security=gnutls",
    "openssl": "security=openssl",
    "unix": "transport=unix write=sendfile",
    "zerocopy": "write=zerocopy read=zerocopy",
    "stream": "workload=stream message=64K threads=2 connections=2 engine=poll verify=on",
}
PROXIED = {
    "block": "", "poll": "engine=poll write=writev", "ring": "proxy.engine=ring",
    "gnutls": "security=gnutls",
}


class State:
    """What the library and the tests share (struct state of injected.c)."""

    def __init__(self, folder: Path, library: Path, program: str) -> None:
        self.path = folder / "state"
        self.path.write_bytes(bytes(SIZE))
        with self.path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), SIZE)
        self.environment = os.environ | {
            "LD_PRELOAD": str(library), "INJECTED": str(self.path), "INJECTED_PROGRAM": program}

    def __getattr__(self, name: str) -> int:
        value: int = struct.unpack_from("q", self._map, 8 * FIELDS.index(name))[0]
        return value

    def set(self, **values: int) -> None:
        for name, value in values.items():
            struct.pack_into("q", self._map, 8 * FIELDS.index(name), value)

    def reset(self) -> None:
        """For the next process."""
        self._map[:] = bytes(SIZE)
        self.set(left=-1)

    def arm(self, left: int = NEVER, variant: int = 0) -> None:
        """From now on so many calls succeed before one fails."""
        self.set(calls=0, failed=0, variant=variant)
        self._map[8 * len(FIELDS):] = bytes(8 * FRAMES)
        self.set(left=left)

    def described(self, program: Path) -> str:
        """The call that failed, and where; the names are right if the program has its symbols."""
        if not self.failed:
            return "no call failed"
        frames = struct.unpack_from(f"{FRAMES}q", self._map, 8 * len(FIELDS))
        names = subprocess.run(
            ["addr2line", "-fse", program, *(hex(frame - 1) for frame in frames if frame)],
            capture_output=True, text=True, check=False).stdout.splitlines()[::2]
        return (f"{ROWS[self.failed - 1]}: {os.strerror(self.error)}, "
                f"in {' < '.join(name for name in names if name not in ('??', '_start'))}")


@dataclass
class Fault(Exception):
    """What is wrong after a failure. kind: crashes, leaks or wrong."""

    kind: str
    text: str


def require(is_so: bool, text: str, kind: str = "wrong") -> None:
    if not is_so:
        raise Fault(kind, text)


def check_end(status: int, said: str) -> None:
    """A program ends with status 0 and says nothing, or with 1 and one line."""
    require(0 <= status < 126 and "ssertion" not in said, f"status {status}: {said}", "crashes")
    lines = said.splitlines(keepends=True)
    require(status in (0, 1) and len(lines) == status and all(map(LINE.fullmatch, lines)),
            f"status {status}, and it said: {said}")


def client_run(words: str, environment: dict[str, str] | None = None) -> tuple[int, str, str]:
    """Status, standard output and standard error of a client."""
    client = client_start(*words.split(), env=environment, stdin=subprocess.DEVNULL)
    try:
        out, error = client.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        client.kill()
        client.communicate()
        raise Fault("wrong", "the client had not ended after 30 s") from None
    return client.returncode, out, error


def session(words: str, status: int = 0) -> None:
    """A session in which no call fails."""
    ended, _, said = client_run(words)
    require((ended, said.count("\n")) == (status, status), f"the next session failed: {said}")


def until(is_so: Callable[[], bool], within_s: float) -> bool:
    end = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


class Daemon:
    """A server or a proxy, whose log goes to a file. `state`: its calls may fail."""

    def __init__(self, folder: Path, *flags: str, state: State | None = None) -> None:
        self.log = folder / f"log{time.monotonic_ns()}"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [SERVER, "--listen", "127.0.0.1:0", *flags], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, text=True,
                env=state.environment if state else None)
        self.pid, output = self.process.pid, self.process.stdout
        assert output
        if not select.select([output], [], [], 30)[0]:
            self.process.kill()
            raise Fault("wrong", "the server was not ready within 30 s, and had not ended")
        line = output.readline()
        output.close()
        self.is_ready = bool(line)
        self.address = f"127.0.0.1:{json.loads(line)['ready']['port']}" if line else ""

    def check_log(self) -> None:
        for line in self.log.read_text().splitlines(keepends=True):
            require(bool(LINE.fullmatch(line)), f"no message of uncork: {line}")

    def ended(self) -> tuple[int, str]:
        """Status and log, after SIGTERM if it still runs."""
        if self.is_ready:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30), self.log.read_text()
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Fault("wrong", "the server did not end within 30 s") from None


class Case:
    """Calls of `program` fail: server, proxy or client."""

    def __init__(self, folder: Path, library: Path, name: str) -> None:
        self.name, self.program = name, name.partition("-")[0]
        self.binary = "uncork-client" if self.program == "client" else "uncork-server"
        self.folder = folder / name
        self.folder.mkdir()
        self.state = State(self.folder, library, self.binary)
        self.daemons: list[Daemon] = []
        self.stride = 1  # of the whole matrix

    def start(self, *flags: str, state: State | None = None) -> Daemon:
        self.daemons.append(Daemon(self.folder, *flags, state=state))
        return self.daemons[-1]

    def try_all(self, left: int, variant: int = 0) -> int:
        """So many calls succeed before one fails. Returns the number of calls, or raises Fault."""
        raise NotImplementedError

    def recover(self) -> None:
        """After a fault."""

    def close(self) -> None:
        for daemon in self.daemons:
            if daemon.process.poll() is None:
                status, said = daemon.ended()
                require(status == 0, f"at the end: status {status}: {said[-3000:]}", "crashes")


class Session(Case):
    """Calls of a server or a proxy fail while a client has a session."""

    def __init__(self, folder: Path, library: Path, name: str, words: str, *flags: str) -> None:
        super().__init__(folder, library, name)
        self.words, self.flags = words, flags
        self.other = self.start() if self.program == "proxy" else None
        self.status = int("server.engine=block" in words)
        self.recover()

    def recover(self) -> None:
        """Another server; its first sessions fill caches."""
        self.state.reset()
        if self.other:
            self.daemon = self.start("--proxy", *self.flags, state=self.state)
            ends = f"workload=proxy via={self.daemon.address} server={self.other.address}"
        else:
            self.daemon = self.start(*self.flags, state=self.state)
            ends = f"server={self.daemon.address}"
        self.command = f"{self.words} {QUICK} {ends}"
        blocks = []
        for _ in range(4):
            session(self.command, self.status)
            time.sleep(0.05)
            blocks.append(self.state.blocks)
        self.files, self.blocks = open_files(self.daemon.pid), blocks[-1]
        self.grows = blocks[-1] - blocks[-2]  # GnuTLS 3.7 keeps two blocks of each thread

    def once(self, left: int, variant: int) -> bool:
        """Whether there are as few blocks of memory as before, after a failure and a session."""
        pid = self.daemon.pid
        self.state.arm(left, variant)
        status, _, said = client_run(self.command)
        until(lambda: open_files(pid) <= self.files, WITHIN_S)
        self.state.set(left=-1)
        if (ended := self.daemon.process.poll()) is not None:
            raise Fault("crashes", f"status {ended}: {self.daemon.log.read_text()[-3000:]}")
        check_end(status, said)
        session(self.command, self.status)
        require(until(lambda: open_files(pid) <= self.files, WITHIN_S),
                f"{open_files(pid)} descriptors, {self.files} before", "leaks")
        return until(lambda: self.state.blocks <= self.blocks + 2 * self.grows, 0.2)

    def try_all(self, left: int, variant: int = 0) -> int:
        """Memory that stays once may be a cache; what stays each time is a leak."""
        tries, failed = 0, 0
        while not self.once(left, variant) and (not tries or self.state.failed == failed):
            tries, failed = tries + 1, self.state.failed
            require(tries < 4, f"{self.state.blocks - self.blocks} blocks stay each time", "leaks")
            self.blocks = self.state.blocks
        self.blocks = max(self.blocks, self.state.blocks) if self.grows else self.blocks
        return self.state.calls

    def close(self) -> None:
        self.daemon.check_log()
        super().close()


class Life(Case):
    """Calls of a server or a proxy fail at its start, or at its end."""

    def __init__(self, folder: Path, library: Path, name: str, psk: str = "") -> None:
        super().__init__(folder, library, name)
        self.is_proxy, self.at_end = self.program == "proxy", name.endswith("-end")
        self.flags = psk.split()
        self.other = self.start(*self.flags) if self.is_proxy else None

    def try_all(self, left: int, variant: int = 0) -> int:
        self.state.reset()
        if not self.at_end:
            self.state.arm(left, variant)
        daemon = self.start(*self.flags, *["--proxy"] * self.is_proxy, state=self.state)
        calls = self.state.calls
        self.state.set(left=-1)
        try:
            if daemon.is_ready and self.at_end:
                self.state.arm(left, variant)
            elif daemon.is_ready:
                address = daemon.address
                ends = (f"workload=proxy server={self.other.address} via={address}" if self.other
                        else f"server={address}")
                session(f"{' '.join(self.flags)} {QUICK} {ends}")
        finally:
            status, said = daemon.ended()
            self.daemons.remove(daemon)
        if daemon.is_ready:
            daemon.check_log()
            require(status in (0, int(self.at_end)), f"status {status}: {said}", "crashes")
        else:
            require(status != 0, "it ended with status 0, without a word")
            check_end(status, said)
        return self.state.calls if self.at_end else calls


class Client(Case):
    """Calls of a client fail, from its start to its end."""

    def __init__(self, folder: Path, library: Path, name: str, words: str, *,
                 has_server: bool = True, status: int = 0, stride: int = 1) -> None:
        super().__init__(folder, library, name)
        self.words, self.status, self.stride = words, status, stride
        self.server = self.start() if has_server else None
        if self.server:
            self.words += f" server={self.server.address}"
            self.good = f"{QUICK} server={self.server.address}"
            session(self.good)
            self.files = open_files(self.server.pid)
        status, self.out, said = client_run(self.words)
        require((status, said.count("\n")) == (self.status, self.status), said)

    def try_all(self, left: int, variant: int = 0) -> int:
        self.state.reset()
        self.state.arm(left, variant)
        status, out, said = client_run(self.words, self.state.environment)
        check_end(status, said)
        unknown = UNKNOWN_FACTS if self.words.startswith("--facts") else UNKNOWN
        lost = [*filter(lambda name: not unknown.search(name), names_in(self.out) - names_in(out))]
        require(status != 0 or not lost, f"status 0, but the output lacks {lost}")
        if server := self.server:
            if left % 4 == 0:  # what one failure breaks stays broken
                session(self.good)
            require(until(lambda: open_files(server.pid) <= self.files, WITHIN_S),
                    "the server keeps descriptors of this client", "leaks")
        else:
            marker = f"INJECTED={self.state.path}\0".encode()
            require(until(lambda: not has_process_with(marker), WITHIN_S), "a process is left",
                    "leaks")
        return self.state.calls


def has_process_with(marker: bytes) -> bool:
    """Whether a process has this in its environment."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if marker in path.read_bytes():
                return True
    return False


def names_in(text: str) -> set[str]:
    """Paths of all keys in lines of JSON; of other text its words."""
    def paths(value: object, path: str) -> Iterator[str]:
        for key, part in value.items() if isinstance(value, dict) else ():
            yield f"{path}{key}"
            yield from paths(part, f"{path}{key}.")
        for part in value if isinstance(value, list) else ():
            yield from paths(part, f"{path}[].")

    try:
        return {path for line in text.splitlines() for path in paths(json.loads(line), "")}
    except ValueError:
        return {word for word in text.split() if word.isalpha() and len(word) > 2}  # no units


@contextmanager
def cases_ready() -> Iterator[dict[str, Callable[[], Case]]]:
    """By name what starts each case, in a folder that is then removed."""
    with tempfile.TemporaryDirectory() as name:
        folder, keys, library = Path(name), Path(name) / "keys", Path(name) / "injected.so"
        keys.touch(mode=0o600)
        keys.write_text("lab:00112233445566778899aabbccddeeff\n")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-fno-builtin", "-o", library,
                        HERE / "injected.c", "-ldl"], check=True)
        made: dict[str, Callable[[], Case]] = {}

        def add(kind: Callable[..., Case], name: str, *rest: object, **options: object) -> None:
            made[name] = lambda: kind(folder, library, name, *rest, **options)

        for program in ("server", "proxy"):
            add(Life, f"{program}-start")
            add(Life, f"{program}-start-psk", f"--psk={keys}")
            add(Life, f"{program}-end")
        add(Session, "server-psk", f"--psk={keys}", f"--psk={keys}")
        for name, words in PROXIED.items():
            add(Session, f"proxy-{name}", words)
        for name, words in WORDS.items():
            add(Session, f"server-{name}", words)
            add(Client, f"client-{name}", f"--json {words} {QUICK}", status=int(name == "refused"),
                stride=5 if name == "openssl" else 1)
        add(Client, "client-answer", QUICK)
        add(Client, "client-facts", "--facts")
        add(Client, "client-own", f"--json {QUICK}", has_server=False)
        add(Client, "client-own-proxy", f"--json workload=proxy {QUICK}", has_server=False)
        add(Client, "client-list", "--list=json", has_server=False, stride=8)
        add(Client, "client-expand", "--expand message=1,2 write=cork", has_server=False)
        yield made


@dataclass
class Matrix:
    """Runs cases. By program: how often each call failed, and the faults of each kind."""

    calls: dict[str, Counter[str]] = field(default_factory=dict)
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    places: set[str] = field(default_factory=set)

    def run(self, make: Callable[[], Case], sample: int | None) -> None:
        """Each call of a case fails with each of its errors; or a sample, at equal distances."""
        case, began = make(), time.monotonic()
        calls = self.calls.setdefault(case.program, Counter())
        count = case.try_all(NEVER)
        step = max(1, count // sample) if sample else case.stride
        for left in range(step // 2, count, step):
            variant = 0
            while variant == 0 or not sample and variant < case.state.variants:
                try:
                    case.try_all(left, variant)
                except Fault as fault:
                    self.note(case, left, fault)
                    case.recover()
                if case.state.failed:
                    calls[ROWS[case.state.failed - 1]] += 1
                variant += 1
        try:
            case.close()
        except Fault as fault:
            self.note(case, count, fault)
        print(f"{case.name}: {count} calls, {time.monotonic() - began:.0f} s", file=sys.stderr)

    def note(self, case: Case, left: int, fault: Fault) -> None:
        self.faults[case.program, fault.kind] += 1
        where = case.state.described(BIN / case.binary)
        if where not in self.places:
            print(f"{case.name} call {left} ({where}): {fault.kind}: {fault.text}", file=sys.stderr)
        self.places.add(where)

    def to_json(self) -> dict[str, object]:
        return {program: {"calls failed": calls.total(),
                          **{kind: self.faults[program, kind]
                             for kind in ("crashes", "leaks", "wrong")},
                          "by call": dict(calls.most_common())}
                for program, calls in sorted(self.calls.items())}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sample", type=int, metavar="N", help="about so many calls of each case")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the totals to FILE")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="only these; a prefix will do")
    options = parser.parse_args()
    matrix = Matrix()
    with cases_ready() as made, ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [pool.submit(matrix.run, make, options.sample) for name, make in made.items()
                     if not options.cases or name.startswith(tuple(options.cases))]:
            done.result()
            if options.json:  # also if it is ended before all are done
                options.json.write_text(f"{json.dumps(matrix.to_json())}\n")
    print(json.dumps(matrix.to_json()))
    return 1 if matrix.faults else 0


if __name__ == "__main__":
    sys.exit(main())
