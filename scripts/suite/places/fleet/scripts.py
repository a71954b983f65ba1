# SPDX-License-Identifier: MIT
"""The commands that hosts of a fleet run: scripts for sh and their arguments. Pure.

No connection lasts from a step to the next. So a process that outlives its step has a pid file in
the folder of the run, which the last step reads. If the last step never comes, the process ends by
itself: a client when its time is over, a server when it has been idle.
"""

from collections.abc import Sequence

from suite.places.ssh.machine import CACHE, GREETING_LINE, KEY_FILE, argv_with_key, script_argv
from suite.places.ssh.programs import CHECKSUM_SCRIPT, PROGRAMS_FOLDER

RUNS = "uncork/run"  # below the cache folder of the user there
OVERDUE_STATUS = 124  # of a client whose time was over, as from timeout(1)

# $1: a digest of programs; the rest: their names. Prints the greeting of a host, and the checksums
# of its copies of these programs.
GREET_SCRIPT = (f'{GREETING_LINE}; digest=$1; shift; '
                f'set -- "{CACHE}/{PROGRAMS_FOLDER}/$digest" "$@"; {CHECKSUM_SCRIPT}')

# $1: the pid file; $2: the limit in seconds; the rest: a program. Runs it; the status is 124 if its
# time was over.
CLIENT_SCRIPT = """\
pid_file=$1 limit=$2; shift 2; mkdir -p "${pid_file%/*}"; exec 5<&0
"$@" <&5 5<&- & program=$!; echo "$program" >"$pid_file"
( trap 'kill "$nap"; exit' TERM; sleep "$limit" & nap=$!; wait "$nap"
  rm -f "$pid_file"; kill "$program"; sleep 6; kill -9 "$program" ) \
</dev/null >/dev/null 2>&1 3<&- 5<&- & watch=$!
wait "$program"; status=$?; kill "$watch" 2>/dev/null
[ -e "$pid_file" ] || status=124
rm -f "$pid_file"; exit "$status"
"""

# $1: the pid file; the rest: a server. Starts it, prints its ready line or its error message.
SERVER_SCRIPT = """\
pid_file=$1; shift; umask 077; mkdir -p "${pid_file%/*}" && rm -f "$pid_file.ready" && \
mkfifo "$pid_file.ready" || exit
"$@" </dev/null >"$pid_file.ready" 2>"$pid_file.log" & echo $! >"$pid_file"
IFS= read -r ready <"$pid_file.ready"; rm -f "$pid_file.ready"; echo "$ready"
[ -n "$ready" ] || { cat "$pid_file.log" >&2; rm -f "$pid_file"; exit 1; }
"""

# $1: the folder of the run. Ends the programs that have pid files there, and removes it.
STOP_SCRIPT = """\
cd "$1" 2>/dev/null || exit 0
for pid_file in *.pid; do
    [ -e "$pid_file" ] && program=$(cat "$pid_file") || continue
    case $(cat "/proc/$program/comm" 2>/dev/null || ps -o comm= -p "$program" 2>/dev/null) in \
*uncork-*) ;; *) continue ;; esac
    kill "$program"
    for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$program" 2>/dev/null || continue 2; sleep 0.3; done
    kill -9 "$program"
done
cd / && rm -rf "$1"
"""

# Arguments: pid files of servers. Fails if one of these has ended.
ALIVE_SCRIPT = """\
for pid_file; do
    kill -0 "$(cat "$pid_file" 2>/dev/null)" 2>/dev/null ||
        { echo "its server has ended" >&2; exit 1; }
done
"""


def client_argv(program: str, pid_file: str, limit_s: float,
                 arguments: Sequence[str]) -> tuple[str, ...]:
    """A client whose key is the first line of its standard input."""
    return argv_with_key(script_argv(CLIENT_SCRIPT,
                                     [pid_file, f"{limit_s:.0f}", program, *arguments]))


def server_argv(program: str, pid_file: str, listen: str, idle_s: float,
                 options: Sequence[str]) -> tuple[str, ...]:
    """A server or a proxy that outlives its step. Its key is the first line of standard input."""
    own = ["--listen", listen, "--psk", KEY_FILE, "--idle", f"{idle_s:.0f}s"]
    return argv_with_key(script_argv(SERVER_SCRIPT, [pid_file, program, *own, *options]))
