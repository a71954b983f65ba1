# SPDX-License-Identifier: MIT
"""What a host of a fleet is told: scripts for sh and their arguments. Pure.

Nobody stays connected between two steps. So what a step leaves running notes its process in a
folder of the run, which the last step looks through; and it ends by itself where nobody comes to do
that: a client after the time that it may take, a server when it has been idle.
"""

from __future__ import annotations

from collections.abc import Sequence

from suite.places.ssh.machine import CACHE, GREETING_LINE
from suite.places.ssh.programs import FOLDER, LOOK_SCRIPT
from suite.places.ssh.shell import KEY_FILE, keyed_words, script_words

RUNS = "uncork/run"  # below the cache of the user there
OVERDUE_STATUS = 124  # of a client that was ended because its time was over; timeout(1) has it too

# $1 notes the process, $2 is how many seconds it may take, the rest is the program. It ends with
# 124 where it was too long.
LIMITED = """\
note=$1 limit=$2; shift 2; mkdir -p "${note%/*}"; exec 5<&0
"$@" <&5 5<&- & program=$!; echo "$program" >"$note"
( trap 'kill "$nap"; exit' TERM; sleep "$limit" & nap=$!; wait "$nap"
  rm -f "$note"; kill "$program"; sleep 6; kill -9 "$program" ) </dev/null >/dev/null 2>&1 3<&- 5<&- & watch=$!
wait "$program"; status=$?; kill "$watch" 2>/dev/null
[ -e "$note" ] || status=124
rm -f "$note"; exit "$status"
"""

# $1 notes the process, the rest is a server. Prints its ready line, or what it complains of.
STARTED = """\
note=$1; shift; umask 077; mkdir -p "${note%/*}" && rm -f "$note.ready" && mkfifo "$note.ready" || exit
"$@" </dev/null >"$note.ready" 2>"$note.log" & echo $! >"$note"
IFS= read -r ready <"$note.ready"; rm -f "$note.ready"; echo "$ready"
[ -n "$ready" ] || { cat "$note.log" >&2; rm -f "$note"; exit 1; }
"""

# $1 is the folder of the run: ends our programs that it notes, and removes it.
TAKEN_DOWN = """\
cd "$1" 2>/dev/null || exit 0
for note in *.pid; do
    [ -e "$note" ] && program=$(cat "$note") || continue
    case $(cat "/proc/$program/comm" 2>/dev/null || ps -o comm= -p "$program" 2>/dev/null) in *uncork-*) ;; *) continue ;; esac
    kill "$program"
    for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$program" 2>/dev/null || continue 2; sleep 0.3; done
    kill -9 "$program"
done
cd / && rm -rf "$1"
"""

# Each argument notes a server: are they all there?
ASKED = """\
for note; do
    kill -0 "$(cat "$note" 2>/dev/null)" 2>/dev/null || { echo "its server has ended" >&2; exit 1; }
done
"""


def greet_words(digest: str, names: Sequence[str]) -> tuple[str, ...]:
    """Asks what a host is, and which of these programs it has."""
    folder = f'digest=$1; shift; set -- "{CACHE}/{FOLDER}/$digest" "$@"'
    return script_words(f"{GREETING_LINE}; {folder}; {LOOK_SCRIPT}", [digest, *names])


def note_path(cache: str, run: str, name: str) -> str:
    """Where a process is noted."""
    return f"{cache}/{RUNS}/{run}/{name}.pid"


def client_words(program: str, note: str, limit_s: float,
                 arguments: Sequence[str]) -> tuple[str, ...]:
    """A client, which is given a key on standard input before all else."""
    return keyed_words(script_words(LIMITED, [note, f"{limit_s:.0f}", program, *arguments]))


def server_words(program: str, note: str, listen: str, idle_s: float,
                 options: Sequence[str]) -> tuple[str, ...]:
    """A server or a proxy that stays, which is given a key."""
    own = ["--listen", listen, "--psk", KEY_FILE, "--idle", f"{idle_s:.0f}s"]
    return keyed_words(script_words(STARTED, [note, program, *own, *options]))


def alive_words(notes: Sequence[str]) -> tuple[str, ...]:
    """Asks for servers."""
    return script_words(ASKED, notes)


def down_words(cache: str, run: str) -> tuple[str, ...]:
    """Takes down what a run has left."""
    return script_words(TAKEN_DOWN, [f"{cache}/{RUNS}/{run}"])
