# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2317
#
# What a host does in a step: one of these functions. Standard input begins with this file, which
# has no backslash, because echo(1) may interpret it (shell.py). The name of the function and its
# arguments are those of sh. No connection lasts from a step to the next. So a process that outlives
# its step has a pid file in the folder of the run. A shell waits for the process, then removes that
# file.

CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/uncork

# greet DIGEST NAME...: prints who the host is, the checksums of its copies of these files, and the
# addresses of the connection. The boot is the id that the client reports too, else the name of the
# host.
greet() {
    boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null) || boot=$(hostname)
    folder=$CACHE/bin/$1 sums=
    shift
    for name; do sums="$sums$(cksum 2>/dev/null <"$folder/$name"),"; done
    # shellcheck disable=SC2086 # four words: address and port of both ends
    set -- ${SSH_CONNECTION:-}
    echo "uncork-host|$(uname -s) $(uname -m)|$boot|$CACHE|$sums|${1:-}|${3:-}"
}

# copy FOLDER NAME CHECKSUM: copies the rest of standard input to that file. It is written under
# another name, so that no incomplete file has the name of a program. Every system has cksum(1).
copy() {
    umask 077
    new=$1/$2.$$
    mkdir -p "$1" && cat >"$new" && chmod 700 "$new" && [ "$(cksum <"$new")" = "$3" ] &&
        mv -f "$new" "$1/$2" && return
    rm -f "$new"
    return 1
}

# try PROGRAM ARGUMENT...
try() { "$@"; }

# A program reads its key from descriptor 3, which is a pipe: other users could read an argument,
# the environment or a file.

# client RUN NAME SECONDS PROGRAM ARGUMENT...: runs a client, whose key is the next line of standard
# input; the rest is its own. The status is 124 if its time was over.
client() {
    run=$CACHE/run/$1 pid_file=$CACHE/run/$1/$2.pid limit=$3
    shift 3
    IFS= read -r key
    mkdir -p "$run"
    exec 4<&0
    echo "$key" | { exec 3<&0 0<&4 4<&-; exec "$@"; } &
    program=$!
    echo "$program" >"$pid_file"
    (
        trap 'kill "$nap"; exit' TERM
        sleep "$limit" &
        nap=$!
        wait "$nap"
        rm -f "$pid_file"
        kill "$program"
        sleep 6
        kill -9 "$program"
    ) </dev/null >/dev/null 2>&1 4<&- &
    watch=$!
    trap '' PIPE # this shell writes `Terminated` into a connection that may have ended
    wait "$program"
    status=$?
    kill "$watch" 2>/dev/null
    [ -e "$pid_file" ] || status=124
    rm -f "$pid_file"
    return "$status"
}

# server RUN NAME PROGRAM ARGUMENT...: starts a server, whose key is the next line of standard
# input. Prints its ready line, or its error message.
server() {
    run=$CACHE/run/$1 at=$CACHE/run/$1/$2
    shift 2
    IFS= read -r key
    umask 077
    mkdir -p "$run" && rm -f "$at.ready" && mkfifo "$at.ready" || return
    {
        echo "$key" | { exec 3<&0 0</dev/null; exec "$@"; } >"$at.ready" 2>"$at.log" &
        echo $! >"$at.pid"
        wait $!
        rm -f "$at.pid"
    } </dev/null >/dev/null 2>&1 &
    IFS= read -r ready <"$at.ready"
    rm -f "$at.ready"
    echo "$ready"
    [ -n "$ready" ] || { cat "$at.log" >&2; return 1; }
}

# alive RUN NAME...: fails if one of these servers has ended.
alive() {
    run=$CACHE/run/$1
    shift
    for name; do
        [ -e "$run/$name.pid" ] || { echo "its server has ended" >&2; return 1; }
    done
}

# stop RUN: ends the programs that have pid files in the folder of the run, and removes it.
stop() {
    cd "$CACHE/run/$1" 2>/dev/null || return 0
    for pid_file in *.pid; do
        [ -e "$pid_file" ] || continue
        program=$(cat "$pid_file")
        case $(cat "/proc/$program/comm" 2>/dev/null || ps -o comm= -p "$program" 2>/dev/null) in
        *uncork-*) ;;
        *) continue ;;
        esac
        kill "$program"
        for nap in 0.01 0.02 0.04 0.08 0.2 0.3 0.3 0.3 0.3 0.5 0.5 0.5; do
            [ -e "$pid_file" ] || continue 2
            sleep "$nap"
        done
        kill -9 "$program"
    done
    cd / && rm -rf "$CACHE/run/$1"
}

# hold RUN: says that the host is reached, and stops the run when standard input ends.
hold() {
    echo uncork-host
    cat >/dev/null
    stop "$1"
}

"$0" "$@"
