# SPDX-License-Identifier: MIT
"""What other machines are told: scripts for sh, and what they print. Pure.

ssh(1) passes a command to the login shell of the user: sh, csh or fish. They agree about text in
single quotes, if it is one line without a quote, a backslash and an exclamation mark. So a command
has only such text, and its script is the first line of standard input.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from suite.base.client import line_read
from suite.base.errors import Failure

GREETING = "uncork-host"
UNQUOTABLE = re.compile(r"['\\!\x00-\x1f\x7f]")
READ_SCRIPT = 'IFS= read -r script; eval "$script"'
KEY_BYTES = 32
KEY_FILE = "/dev/fd/3"  # where a program reads its key
OVERDUE_STATUS = 124  # of a client whose time was over, as from timeout(1)
CACHE = "${XDG_CACHE_HOME:-$HOME/.cache}/uncork"
RUN = f'run="{CACHE}/run/$1"; shift;'  # the folder of a run there, whose name is the argument
# Reads the key and passes it to the program by a pipe, because other users could read an argument,
# the environment or a file.
READ_KEY = "IFS= read -r key; exec 4<&0;"
PASS_KEY = 'echo "$key" | { exec 3<&0 0<&4 4<&-; exec "$@"; }'

# Ends the programs that have pid files in the folder of the run, and removes it. A shell waits for
# each program, and then removes its pid file.
STOP = f"""{RUN}
cd "$run" 2>/dev/null || exit 0;
for pid_file in *.pid; do
    [ -e "$pid_file" ] && program=$(cat "$pid_file") || continue;
    case $(cat "/proc/$program/comm" 2>/dev/null || ps -o comm= -p "$program" 2>/dev/null) in
*uncork-*) ;; *) continue ;; esac;
    kill "$program";
    for wait in 0.01 0.02 0.04 0.08 0.2 0.3 0.3 0.3 0.3 0.5 0.5 0.5; do
        [ -e "$pid_file" ] || continue 2; sleep "$wait"; done;
    kill -9 "$program";
done;
cd / && rm -rf "$run";
"""

# No connection lasts from a step to the next. So a process that outlives its step has a pid file in
# the folder of the run. Scripts have arguments; a newline in a script is a blank.
SCRIPTS = {
    # a digest of programs, their names: prints the greeting of the host, and the checksums of its
    # copies. The boot is the id that the client reports too, else the name of the host.
    "greet": f"""
boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null) || boot=$(hostname);
echo "{GREETING}|$(uname -s) $(uname -m)|$boot|{CACHE}|${{SSH_CONNECTION:-}}";
cd "{CACHE}/bin/$1" 2>/dev/null && shift && for name; do
    cksum <"$name" 2>/dev/null || echo none; done; exit 0
""",
    # a folder, a name, a checksum: copies standard input to that file. It is written under another
    # name, so that no incomplete file has the name of a program. Every system has cksum(1).
    "copy": """
umask 077; new="$1/$2.$$"; mkdir -p "$1" && cat >"$new" && chmod 700 "$new" &&
[ "$(cksum <"$new")" = "$3" ] && mv -f "$new" "$1/$2" && exit 0; rm -f "$new"; exit 1
""",
    "try": '"$@"',  # a program with its arguments
    # the run, a name for the process, its limit in seconds, a program with its arguments: runs it
    # with the key that is the first line of standard input. The status is 124 if its time was over.
    # The shell writes `Terminated` into a connection that may have ended.
    "client": f"""{RUN} pid_file=$run/$1.pid limit=$2; shift 2; {READ_KEY} mkdir -p "$run";
{PASS_KEY} & program=$!; echo "$program" >"$pid_file";
( trap 'kill "$nap"; exit' TERM; sleep "$limit" & nap=$!; wait "$nap";
  rm -f "$pid_file"; kill "$program"; sleep 6; kill -9 "$program"
) </dev/null >/dev/null 2>&1 4<&- & watch=$!;
trap "" PIPE; wait "$program"; status=$?; kill "$watch" 2>/dev/null;
[ -e "$pid_file" ] || status={OVERDUE_STATUS};
rm -f "$pid_file"; exit "$status"
""",
    # the run, a name for the process, a server with its arguments: starts it with the key that is
    # standard input, and prints its ready line or its error message
    "server": f"""{RUN} at=$run/$1; shift; {READ_KEY} umask 077;
mkdir -p "$run" && rm -f "$at.ready" && mkfifo "$at.ready" || exit; exec 4</dev/null;
{{ {PASS_KEY} >"$at.ready" 2>"$at.log" & echo $! >"$at.pid"; wait "$!"; rm -f "$at.pid"; }}
</dev/null >/dev/null 2>&1 &
IFS= read -r ready <"$at.ready"; rm -f "$at.ready"; echo "$ready";
[ -n "$ready" ] || {{ cat "$at.log" >&2; exit 1; }}
""",
    # the run, names of servers: fails if one of these has ended
    "alive": f"""{RUN} for name; do
    [ -e "$run/$name.pid" ] || {{ echo "its server has ended" >&2; exit 1; }}; done
""",
    "stop": STOP,  # the run
    # the run: says that the host is reached, and stops all when standard input ends
    "hold": f"echo {GREETING}; cat >/dev/null; {STOP}",
}


def word_quote(word: str) -> str:
    """A quoted argument for any shell; Failure for one that some shell would misread."""
    found = UNQUOTABLE.search(word)
    if found:
        raise Failure(
            f"{word!r} cannot be passed to the shell of another machine: {found[0]!r} is in it")
    return f"'{word}'"


def exec_line(argv: Sequence[str]) -> str:
    return " ".join(["exec", *map(word_quote, argv)])


def script_argv(name: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """The command that reads a script and runs it; $0 is its name, which ps(1) shows."""
    return "sh", "-c", READ_SCRIPT, name, *arguments


def script_line(name: str) -> str:
    """The line of standard input for that command."""
    return SCRIPTS[name].replace("\n", " ") + "\n"


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
    """The line that the script `greet` prints; None for any other line of a login shell."""
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
