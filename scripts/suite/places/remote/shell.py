# SPDX-License-Identifier: MIT
"""What the runner tells other machines, and what they print. Pure.

ssh(1) passes a command to the login shell of the user: sh, csh or fish. They agree about text in
single quotes, if it is one line without a quote, a backslash and an exclamation mark. So a command
has only such text, and standard input begins with the script: the functions of host.sh.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from suite.base.client import fault_text
from suite.base.errors import Failure
from suite.base.process import Output

GREETING = "uncork-host"
UNQUOTABLE = re.compile(r"['\\!\x00-\x1f\x7f]")
SCRIPT = Path(__file__).with_name("host.sh").read_text() + "#end\n"
READ_SCRIPT = ('script=$(while IFS= read -r line; do [ "$line" = "#end" ] && break; '
               'echo "$line"; done); eval "$script"')
KEY_FILE = "/dev/fd/3"  # where a program reads its key
OVERDUE_STATUS = 124  # of a client whose time was over, as from timeout(1)


def exec_line(argv: Sequence[str]) -> str:
    """A command for any shell; Failure for an argument that some shell would misread."""
    for word in argv:
        if found := UNQUOTABLE.search(word):
            raise Failure(
                f"{word!r} cannot be passed to the shell of another machine: {found[0]!r} is in it")
    return " ".join(["exec", *(f"'{word}'" for word in argv)])


def endpoint(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


class Job(NamedTuple):
    """A function of host.sh that a host runs. Its standard input: files of this machine, then the
    text given."""

    function: str
    arguments: tuple[str, ...]
    files: tuple[Path, ...] = ()
    given: str = ""

    @property
    def argv(self) -> tuple[str, ...]:
        """The command that reads the script and calls the function."""
        return "sh", "-c", READ_SCRIPT, self.function, *self.arguments

    @property
    def input(self) -> bytes:
        return b"".join([SCRIPT.encode(), *(path.read_bytes() for path in self.files),
                         self.given.encode()])


@dataclass
class Outcome(Output):
    """The result of a job. why: with the host; empty if the job ran."""

    stdout: bytes = b""

    def __post_init__(self) -> None:
        self.overdue = self.status == OVERDUE_STATUS

    @property
    def failed(self) -> bool:
        return bool(self.why) or self.status != 0

    def reason(self, what: str) -> str:
        """Why it did not run, else why it failed. what: what did not succeed, with the host."""
        return self.why or f"{what}: {fault_text(self.stderr, self.status)}"

    def lines(self) -> Iterator[bytes]:
        *whole, self.torn = self.stdout.split(b"\n")
        yield from whole


class Greeting(NamedTuple):
    """What a host says about itself. sums: the checksums of its copies of files. Addresses: of the
    connection, as that machine sees them; empty if unknown."""

    system: str
    boot: str
    cache: str
    sums: list[str]
    peer_address: str
    own_address: str


def greeting_find(lines: Iterable[bytes]) -> Greeting | None:
    """From the line that `greet` prints; None without it: a login shell may print others."""
    for line in lines:
        words = line.decode(errors="replace").strip().split("|")
        if words[0] == GREETING and len(words) == 7:
            _, system, boot, cache, sums, peer_address, own_address = words
            return Greeting(system, boot, cache, sums.split(","), peer_address, own_address)
    return None
