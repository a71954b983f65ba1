# SPDX-License-Identifier: MIT
"""Calls that fail, one after the other, in a server, a proxy and a client.

    injected.py [--sample N] [--json FILE] [--bin FOLDER] [CASE...]

A library in the program (injected.c) counts the calls of injected.def from the moment when it is
told to, and lets one of them fail. After each failure: the program has not crashed, it says one line
at most, the next session works, and descriptors and memory are as before. It prints a line for each
fault, and a line of JSON with the totals of each program.
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

import programs
from programs import WITHIN_S, client_start, open_files

HERE = Path(__file__).parent
NEVER = 1 << 40  # calls
FIELDS = ("pid", "left", "variant", "calls", "failed", "variants", "error", "blocks")
FRAMES = 24
SIZE = 8 * (len(FIELDS) + FRAMES)
ROWS = re.findall(r"^(?:BY_HAND\(|(?:SOCKET_)?CALL\([\w *]+, )(\w+)", (HERE / "injected.def").read_text(), re.M)
# what a sanitizer ends a program with: its default is 1, as for an ordinary failure
SANITIZER_STATUS = 99
SANITIZER = f"verify_asan_link_order=0:exitcode={SANITIZER_STATUS}:allocator_may_return_null=1"
LINE = re.compile(r"uncork(-client|-server)?: .+\n")
# what a record leaves out where the system does not say it
UNKNOWN = re.compile(r"machine\b|sysctl|mitigations|migrations|device|cpus$|microcode")
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


def library_built(folder: Path) -> Path:
    """The library, compiled."""
    library = folder / "injected.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-fno-builtin", "-o", library,
                    str(HERE / "injected.c"), "-ldl"], check=True)
    return library


class State:
    """What the library and the tests share; a program has one."""

    def __init__(self, folder: Path, library: Path, program: str) -> None:
        folder.mkdir()
        self._path = folder / "state"
        self._path.write_bytes(bytes(SIZE))
        with self._path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), SIZE)
        self.environment = os.environ | {
            "LD_PRELOAD": str(library), "INJECTED": str(self._path), "INJECTED_PROGRAM": program,
            "ASAN_OPTIONS": SANITIZER}
        self.reset()

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
        """The call that failed, and where in the program."""
        if not self.failed:
            return "no call failed"
        frames = struct.unpack_from(f"{FRAMES}q", self._map, 8 * len(FIELDS))
        places = subprocess.run(
            ["addr2line", "-fse", program, *(hex(frame - 1) for frame in frames if frame)],
            capture_output=True, text=True, check=False).stdout.split("\n")
        return (f"{ROWS[self.failed - 1]}: {os.strerror(self.error)}, in "
                f"{' < '.join(name for name in places[:-1:2] if name not in ('??', '_start'))}")


@dataclass
class Tally:
    """What became of the failures of one program."""

    calls: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)  # crashes, leaks, wrong

    def to_json(self) -> dict[str, object]:
        return {"calls failed": self.calls.total(),
                **{kind: self.faults[kind] for kind in ("crashes", "leaks", "wrong")},
                "by call": dict(self.calls.most_common())}


@dataclass
class Fault(Exception):
    """What is wrong after a failure. kind: crashes, leaks or wrong."""

    kind: str
    text: str


def require(is_so: bool, text: str, kind: str = "wrong") -> None:
    if not is_so:
        raise Fault(kind, text)


def check_end(status: int, said: str, statuses: tuple[int, ...] = (0, 1)) -> None:
    """A program that has ended: with a status that fits its words, and at most one line."""
    require(status >= 0 and status < 126 and status != SANITIZER_STATUS and "ssertion" not in said,
            f"status {status}: {said[-3000:]}", "leaks" if "LeakSanitizer" in said else "crashes")
    lines = said.splitlines(keepends=True)
    require(status in statuses, f"status {status}: {said}")
    require(len(lines) == (status != 0), f"status {status} and {len(lines)} lines: {said}")
    require(all(map(LINE.fullmatch, lines)), f"no message of uncork: {said}")


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


def session(words: str) -> None:
    """A session in which no call fails. It must work."""
    status, _, said = client_run(words)
    require(status == 0 and not said, f"the next session failed: {said}")


def until(is_so: Callable[[], bool], within_s: float) -> bool:
    end = time.monotonic() + within_s
    while not is_so():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


class Daemon:
    """A server or a proxy; its log goes to a file. `state`: its calls may fail."""

    def __init__(self, folder: Path, *flags: str, state: State | None = None,
                 listen: str = "127.0.0.1:0") -> None:
        self.log = folder / f"log{time.monotonic_ns()}"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [programs.SERVER, "--listen", listen, *flags], stdout=subprocess.PIPE, stderr=log,
                text=True, env=state and state.environment, stdin=subprocess.DEVNULL)
        assert self.process.stdout
        if not select.select([self.process.stdout], [], [], 30)[0]:
            self.process.kill()
            raise Fault("wrong", "the server was not ready within 30 s, and had not ended")
        line = self.process.stdout.readline()
        self.is_ready = bool(line)
        if line:
            ready = json.loads(line)["ready"]
            self.address = f"{ready['address']}:{ready['port']}" if "port" in ready else ready["address"]
            self.files = open_files(self.process.pid)

    def check_log(self) -> None:
        for line in self.log.read_text().splitlines(keepends=True):
            require(bool(LINE.fullmatch(line)), f"no message of uncork: {line}")

    def check_alive(self) -> None:
        if (status := self.process.poll()) is not None:
            said = self.log.read_text()
            raise Fault("leaks" if "LeakSanitizer" in said else "crashes",
                        f"the server ended with status {status}: {said[-3000:]}")

    def ended(self) -> tuple[int, str]:
        """Status and log, after SIGTERM if it still runs."""
        if self.is_ready:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Fault("wrong", "the server did not end within 30 s") from None
        finally:
            assert self.process.stdout
            self.process.stdout.close()
        return status, self.log.read_text()


class Case:
    """Calls of `program` fail: server, proxy or client. A case has a folder, and a state."""

    name: str
    program: str
    binary = "uncork-server"
    stride = 1  # of the whole matrix

    def __init__(self, folder: Path, library: Path) -> None:
        self.folder = folder / self.name
        self.state = State(self.folder, library, self.binary)
        self.daemons: list[Daemon] = []

    def start(self, *flags: str, **options: object) -> Daemon:
        daemon = Daemon(self.folder, *flags, **options)  # type: ignore[arg-type]
        self.daemons.append(daemon)
        return daemon

    def count(self) -> int:
        """How many calls there are if none fails."""
        raise NotImplementedError

    def fail(self, left: int, variant: int) -> None:
        """So many calls succeed before one fails. Raises Fault."""
        raise NotImplementedError

    def recover(self) -> None:
        """After a fault."""

    def close(self) -> None:
        for daemon in self.daemons:
            if daemon.process.poll() is None:
                daemon.ended()


class Session(Case):
    """Calls of a server or a proxy fail while a client has a session."""

    def __init__(self, folder: Path, library: Path, program: str, name: str, words: str,
                 *flags: str) -> None:
        self.name, self.program, self.words, self.flags = f"{program}-{name}", program, words, flags
        super().__init__(folder, library)
        self.other = self.start() if program == "proxy" else None
        self.recover()

    def recover(self) -> None:
        self.state.reset()
        self.daemon = self.start(*self.flags, *(["--proxy"] if self.other else []), state=self.state)
        self.command = f"{self.words} {QUICK} " + (
            f"via={self.daemon.address} server={self.other.address}" if self.other else
            f"server={self.daemon.address}")
        self.is_refused = "server.engine=block" in self.words
        for _ in range(3):
            self.good()
        before = self.state.blocks
        self.good()
        time.sleep(0.05)
        self.files, self.blocks = open_files(self.daemon.process.pid), self.state.blocks
        self.grows = self.blocks - before

    def good(self) -> None:
        status, _, said = client_run(self.command)
        require(status == self.is_refused and said.count("\n") == status,
                f"the next session failed: {said}")

    def count(self) -> int:
        self.state.arm()
        self.good()
        self.settle()
        calls = self.state.calls
        self.state.set(left=-1)
        return calls

    def settle(self) -> bool:
        """Whether descriptors and blocks of memory are as few as before."""
        pid = self.daemon.process.pid
        require(until(lambda: open_files(pid) <= self.files, WITHIN_S),
                f"{open_files(pid)} descriptors, {self.files} before", "leaks")
        return until(lambda: self.state.blocks <= self.blocks + 2 * self.grows, 0.2)

    def once(self, left: int, variant: int) -> bool:
        self.state.arm(left, variant)
        status, _, said = client_run(self.command)
        until(lambda: open_files(self.daemon.process.pid) <= self.files, WITHIN_S)
        self.state.set(left=-1)
        self.daemon.check_alive()
        check_end(status, said)
        self.good()
        self.daemon.check_alive()
        return self.settle()

    def fail(self, left: int, variant: int) -> None:
        """Memory that stays once may be a cache. What stays each time is a leak."""
        self.blocks = max(self.blocks, self.state.blocks) if self.grows else self.blocks
        if self.once(left, variant):
            return
        failed = self.state.failed
        for _ in range(3):
            self.blocks = self.state.blocks
            if self.once(left, variant) or self.state.failed != failed:
                return
        raise Fault("leaks", f"{self.state.blocks - self.blocks} blocks stay each time")

    def close(self) -> None:
        status, said = self.daemon.ended()
        self.daemon.check_log()
        require(status == 0, f"at the end: status {status}: {said[-3000:]}", "leaks")
        super().close()


class Life(Case):
    """Calls of a server or proxy fail at its start, or at its end."""

    def __init__(self, folder: Path, library: Path, program: str, name: str, psk: str = "",
                 at_end: bool = False) -> None:
        self.name, self.program, self.at_end = f"{program}-{name}", program, at_end
        flags = psk.split()
        self.flags = [*flags, *(["--proxy"] if program == "proxy" else [])]
        super().__init__(folder, library)
        self.other = self.start(*flags) if program == "proxy" else None
        self.words = f"{psk} {QUICK}"

    def live(self, left: int, variant: int = 0) -> int:
        self.state.reset()
        if not self.at_end:
            self.state.arm(left, variant)
        daemon = self.start(*self.flags, state=self.state)
        calls = self.state.calls
        if daemon.is_ready:
            self.state.set(left=-1)
            if self.at_end:
                self.state.arm(left, variant)
            else:
                session(f"{self.words} server={self.other.address} via={daemon.address} workload=proxy"
                        if self.other else f"{self.words} server={daemon.address}")
        status, said = daemon.ended()
        self.daemons.remove(daemon)
        if daemon.is_ready:
            daemon.check_log()
            require(status == 0 or self.at_end and status == 1, f"status {status}: {said[-3000:]}",
                    "crashes")
        else:
            require(status != 0, "it ended with status 0, without a word")
            check_end(status, said)
        return self.state.calls if self.at_end else calls

    def count(self) -> int:
        return self.live(NEVER)

    def fail(self, left: int, variant: int) -> None:
        self.live(left, variant)


class Client(Case):
    """Calls of a client fail, from its start to its end."""

    program = "client"
    binary = "uncork-client"

    def __init__(self, folder: Path, library: Path, name: str, words: str, *,
                 has_server: bool = True, status: int = 0, stride: int = 1) -> None:
        self.name, self.status, self.stride = f"client-{name}", status, stride
        super().__init__(folder, library)
        self.words = words
        self.server = self.start() if has_server else None
        if self.server:
            self.words += f" server={self.server.address}"
            session(f"{QUICK} server={self.server.address}")
            self.files = open_files(self.server.process.pid)

    def count(self) -> int:
        self.state.arm()
        status, self.out, said = client_run(self.words, self.state.environment)
        require(status == self.status and said.count("\n") == status, said)
        return self.state.calls

    def fail(self, left: int, variant: int) -> None:
        self.state.reset()
        self.state.arm(left, variant)
        status, out, said = client_run(self.words, self.state.environment)
        check_end(status, said)
        if status == 0 and not self.status:
            lost = {name for name in names_in(self.out) - names_in(out) if not UNKNOWN.search(name)}
            require(not lost, f"status 0, but the output lacks {sorted(lost)}")
        if self.server:
            pid = self.server.process.pid
            session(f"{QUICK} server={self.server.address}")
            require(until(lambda: open_files(pid) <= self.files, WITHIN_S), "the server keeps files")
        marker = f"INJECTED={self.state._path}\0".encode()
        require(until(lambda: not processes_with(marker), WITHIN_S), "a process is left")


def processes_with(marker: bytes) -> list[str]:
    """Those with this variable in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if marker in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def names_in(text: str) -> set[str]:
    """Paths of all keys in lines of JSON; of other text the words without digits."""
    def paths(value: object, path: str) -> Iterator[str]:
        for key, part in value.items() if isinstance(value, dict) else ():
            yield f"{path}{key}"
            yield from paths(part, f"{path}{key}.")
        for part in value if isinstance(value, list) else ():
            yield from paths(part, f"{path}[].")

    try:
        return {path for line in text.splitlines() for path in paths(json.loads(line), "")}
    except ValueError:
        return {word for word in text.split() if word.isalpha()}


def cases(folder: Path, library: Path, keys: Path) -> dict[str, Callable[[], Case]]:
    """All, by name, each with what starts it."""
    psk = f"--psk={keys}"
    made: dict[str, Callable[[], Case]] = {}

    def add(name: str, make: Callable[..., Case], *rest: object, **options: object) -> None:
        made[name] = lambda: make(folder, library, *rest, **options)

    for program in ("server", "proxy"):
        add(f"{program}-start", Life, program, "start")
        add(f"{program}-start-psk", Life, program, "start-psk", psk)
        add(f"{program}-end", Life, program, "end", at_end=True)
    for name, words in WORDS.items():
        add(f"server-{name}", Session, "server", name, words)
        add(f"client-{name}", Client, name, f"--json {words} {QUICK}",
            status=int(name == "refused"), stride=5 if name == "openssl" else 1)
    add("server-psk", Session, "server", "psk", psk, psk)
    proxied = "workload=proxy " + " message=64K"
    add("proxy-block", Session, "proxy", "block", "workload=proxy")
    add("proxy-poll", Session, "proxy", "poll", "workload=proxy engine=poll write=writev")
    add("proxy-ring", Session, "proxy", "ring", "workload=proxy proxy.engine=ring")
    add("proxy-gnutls", Session, "proxy", "gnutls", "workload=proxy security=gnutls")
    add("client-own", Client, "own", f"--json {QUICK}", has_server=False)
    add("client-answer", Client, "answer", QUICK)
    add("client-own-proxy", Client, "own-proxy", f"--json workload=proxy {QUICK}", has_server=False)
    add("client-list", Client, "list", "--list=json", has_server=False, stride=8)
    add("client-expand", Client, "expand", "--expand message=1,2 write=cork", has_server=False)
    add("client-facts", Client, "facts", "--facts")
    return made


@dataclass
class Matrix:
    """Runs cases and keeps their totals."""

    tallies: dict[str, Tally] = field(default_factory=dict)
    faults: Counter[str] = field(default_factory=Counter)

    def run(self, make: Callable[[], Case], sample: int | None) -> None:
        """Each call of a case fails, or a sample of them at equal distances."""
        case = make()
        tally = self.tallies.setdefault(case.program, Tally())
        count, began = case.count(), time.monotonic()
        step = case.stride if sample is None else max(1, count // sample)
        for left in range(step // 2, count, step):
            variant = 0
            while variant == 0 or (sample is None and variant < case.state.variants):
                try:
                    case.fail(left, variant)
                except Fault as fault:
                    self.note(case, tally, left, fault)
                    with suppress(Fault):
                        case.recover()
                if case.state.failed:
                    tally.calls[ROWS[case.state.failed - 1]] += 1
                variant += 1
        try:
            case.close()
        except Fault as fault:
            self.note(case, tally, count, fault)
        print(f"{case.name}: {count} calls, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

    def note(self, case: Case, tally: Tally, left: int, fault: Fault) -> None:
        tally.faults[fault.kind] += 1
        where = case.state.described(programs.BIN / case.binary)
        key = f"{case.program} {where}: {fault.kind}"
        self.faults[key] += 1
        if self.faults[key] == 1:
            print(f"{case.name} call {left} ({where}): {fault.kind}: {fault.text}", file=sys.stderr,
                  flush=True)

    def to_json(self) -> dict[str, object]:
        return {name: tally.to_json() for name, tally in sorted(self.tallies.items())}


@contextmanager
def cases_ready() -> Iterator[dict[str, Callable[[], Case]]]:
    """All cases, in a folder that is then removed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        keys = folder / "keys"
        keys.touch(mode=0o600)
        keys.write_text("lab:00112233445566778899aabbccddeeff\n")
        yield cases(folder, library_built(folder), keys)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int, metavar="N", help="so many calls of each case")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the totals to FILE")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="run only these; a prefix will do")
    options = parser.parse_args()
    matrix = Matrix()
    with cases_ready() as made, ThreadPoolExecutor(2) as pool:
        chosen = [make for name, make in made.items()
                  if not options.cases or name.startswith(tuple(options.cases))]
        for done in [pool.submit(matrix.run, make, options.sample) for make in chosen]:
            done.result()
    text = json.dumps(matrix.to_json())
    if options.json:
        options.json.write_text(f"{text}\n")
    print(text)
    return 1 if matrix.faults else 0


if __name__ == "__main__":
    sys.exit(main())
