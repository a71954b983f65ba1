# SPDX-License-Identifier: MIT
"""What the runner tells other machines, and what they print. Pure.

ssh(1) passes a command to the login shell of the user: sh, csh or fish. They agree about text in
single quotes, if it is one line without a quote, a backslash and an exclamation mark. So a command
has only such text, and standard input begins with the script: the functions of host.sh.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.base.client import line_read
from suite.base.errors import Failure

GREETING = "uncork-host"
UNQUOTABLE = re.compile(r"['\\!\x00-\x1f\x7f]")
SCRIPT, SCRIPT_END = Path(__file__).with_name("host.sh").read_text(), "#end\n"
READ_SCRIPT = ('script=$(while IFS= read -r line; do [ "$line" = "#end" ] && break; '
               'echo "$line"; done); eval "$script"')
KEY_BYTES = 32
KEY_FILE = "/dev/fd/3"  # where a program reads its key
OVERDUE_STATUS = 124  # of a client whose time was over, as from timeout(1)


def word_quote(word: str) -> str:
    """A quoted argument for any shell; Failure for one that some shell would misread."""
    found = UNQUOTABLE.search(word)
    if found:
        raise Failure(
            f"{word!r} cannot be passed to the shell of another machine: {found[0]!r} is in it")
    return f"'{word}'"


def exec_line(argv: Sequence[str]) -> str:
    return " ".join(["exec", *map(word_quote, argv)])


def script_argv(function: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """The command that reads the script and calls a function of it."""
    return "sh", "-c", READ_SCRIPT, function, *arguments


def key_line(key: str) -> str:
    """A line of a key file. key: hexadecimal digits."""
    return f"uncork:{key}\n"


def endpoint(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


@dataclass(frozen=True)
class Greeting:
    """What a host says about itself. Addresses: of the connection, as that machine sees them."""

    system: str
    boot: str
    cache: str
    peer_address: str
    own_address: str


def greeting_parse(line: bytes) -> Greeting | None:
    """The line that `greet` prints; None for any other line of a login shell."""
    words = line.decode(errors="replace").strip().split("|")
    if len(words) != 5 or words[0] != GREETING:
        return None
    seen = words.pop().split()
    known = len(seen) == 4 and "UNKNOWN" not in seen
    return Greeting(*words[1:], *(seen[::2] if known else ("", "")))


def ready_parse(lines: Iterable[bytes]) -> int | None:
    """The port in the ready line of a server; None without such a line."""
    for line in lines:
        ready = (line_read(line) or {}).get("ready")
        if isinstance(ready, dict) and type(ready.get("port")) is int:
            return ready["port"]
    return None
