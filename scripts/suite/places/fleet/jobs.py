# SPDX-License-Identifier: MIT
"""The commands of hosts of a fleet: scripts for sh and their arguments. Pure.

No connection stays between two steps. So each process that outlives its step has its id in a folder
of the run, which the last step reads. It also ends by itself if the last step never comes: a client
when its time is over, a server when it has been idle.
"""

from collections.abc import Sequence

from suite.places.ssh.machine import CACHE, GREETING_LINE, KEY_FILE, keyed_words, script_words
from suite.places.ssh.programs import LOOK_SCRIPT, PROGRAMS_FOLDER

RUNS = "uncork/run"  # below the cache of the user there
OVERDUE_STATUS = 124  # of a client whose time was over, as of timeout(1)

# $1 is a digest of programs, the rest their names. Prints the greeting of a host, and the checksums
# of its copies of these programs.
GREETED = (f'{GREETING_LINE}; digest=$1; shift; set -- "{CACHE}/{PROGRAMS_FOLDER}/$digest" "$@"; '
           f'{LOOK_SCRIPT}')

# $1 is the file for the process id, $2 the limit in seconds, the rest is the program. Its status is
# 124 where its time was over.
LIMITED = """\
note=$1 limit=$2; shift 2; mkdir -p "${note%/*}"; exec 5<&0
"$@" <&5 5<&- & program=$!; echo "$program" >"$note"
( trap 'kill "$nap"; exit' TERM; sleep "$limit" & nap=$!; wait "$nap"
  rm -f "$note"; kill "$program"; sleep 6; kill -9 "$program" ) \
</dev/null >/dev/null 2>&1 3<&- 5<&- & watch=$!
wait "$program"; status=$?; kill "$watch" 2>/dev/null
[ -e "$note" ] || status=124
rm -f "$note"; exit "$status"
"""

# $1 is the file for the process id, the rest is a server. Prints its ready line or its complaint.
STARTED = """\
note=$1; shift; umask 077; mkdir -p "${note%/*}" && rm -f "$note.ready" && \
mkfifo "$note.ready" || exit
"$@" </dev/null >"$note.ready" 2>"$note.log" & echo $! >"$note"
IFS= read -r ready <"$note.ready"; rm -f "$note.ready"; echo "$ready"
[ -n "$ready" ] || { cat "$note.log" >&2; rm -f "$note"; exit 1; }
"""

# $1 is the folder of the run: ends the programs whose ids it has, and removes it.
TAKEN_DOWN = """\
cd "$1" 2>/dev/null || exit 0
for note in *.pid; do
    [ -e "$note" ] && program=$(cat "$note") || continue
    case $(cat "/proc/$program/comm" 2>/dev/null || ps -o comm= -p "$program" 2>/dev/null) in \
*uncork-*) ;; *) continue ;; esac
    kill "$program"
    for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$program" 2>/dev/null || continue 2; sleep 0.3; done
    kill -9 "$program"
done
cd / && rm -rf "$1"
"""

# Each argument is the file of a server's process id. Fails where one of them has ended.
ALIVE = """\
for note; do
    kill -0 "$(cat "$note" 2>/dev/null)" 2>/dev/null || { echo "its server has ended" >&2; exit 1; }
done
"""


def client_words(program: str, note: str, limit_s: float,
                 arguments: Sequence[str]) -> tuple[str, ...]:
    """A client that gets a key on standard input before all else. note: for the process id."""
    return keyed_words(script_words(LIMITED, [note, f"{limit_s:.0f}", program, *arguments]))


def server_words(program: str, note: str, listen: str, idle_s: float,
                 options: Sequence[str]) -> tuple[str, ...]:
    """A server or a proxy that outlives the step and gets a key. note: for the process id."""
    own = ["--listen", listen, "--psk", KEY_FILE, "--idle", f"{idle_s:.0f}s"]
    return keyed_words(script_words(STARTED, [note, program, *own, *options]))
