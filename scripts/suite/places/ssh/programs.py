# SPDX-License-Identifier: MIT
"""Our programs on another machine: copied there once for each build, and looked at each time before
they are believed.

A file is written under another name and renamed when its size and checksum are right, so that
nobody finds half of one; cksum(1) is all that every system has.
"""

from __future__ import annotations

import functools
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from suite.base.client import (
    BINARIES,
    ROOT,
    Client,
    build_digest,
    build_update,
    client_require,
    complaint_text,
    exit_text,
)
from suite.base.errors import Failure, Unreachable
from suite.places.ssh.machine import Greeting, RemoteMachine

FOLDER = "uncork/bin"  # below the cache of the user there
LOOKS_S = 30.0
COPIES_S = 600.0  # of 20 MB, over a slow line
LOOK_SCRIPT = 'cd "$1" 2>/dev/null && shift && for name; do cksum <"$name" 2>/dev/null || echo none; done; exit 0'
COPY_SCRIPT = ('umask 077; new="$1/$2.$$"; mkdir -p "$1" && cat >"$new" && chmod 700 "$new" && '
               '[ "$(cksum <"$new")" = "$3" ] && mv -f "$new" "$1/$2" && exit 0; rm -f "$new"; exit 1')
STATIC = ROOT / "build" / "static"
STATIC_HINT = "scripts/setup/target static builds programs that need nothing there"


@functools.cache
def static_update() -> None:
    """Brings the static build up to date, if there is one, once."""
    build_update(Client(STATIC / "bin", STATIC), STATIC)


def programs_choose(client: Client) -> Client:
    """The static build in place of our own, where it has been configured; those that somebody chose
    stay."""
    if client.built is None or not (STATIC / "CMakeCache.txt").exists():
        return client
    static_update()
    return client_require(replace(client, folder=STATIC / "bin", built=STATIC))


def checksum(path: Path) -> str:
    """What cksum(1) says of a file: `CRC SIZE`."""
    with open(path, "rb") as file:
        return subprocess.run(["cksum"], stdin=file, capture_output=True, text=True,
                              check=True).stdout.strip()


def system_refusal(name: str, greeting: Greeting) -> str | None:
    """Why a machine could not run what this one can."""
    own = f"{platform.system()} {platform.machine()}"
    same = greeting.system == own
    return None if same else f"{name} is {greeting.system}, and these programs are for {own}: nothing would start there"


def said_of(done: subprocess.CompletedProcess[bytes]) -> str:
    """Why something there has failed."""
    return complaint_text(done.stderr.decode(errors="replace")) or exit_text(done.returncode)


def missing_of(looked: bytes, sums: Sequence[str]) -> list[str]:
    """The binaries that are not there as they are here, by what LOOK_SCRIPT has printed."""
    found = [line.strip() for line in looked.decode(errors="replace").splitlines()][-len(BINARIES):]
    if len(found) < len(BINARIES):
        return list(BINARIES)
    return [name for name, own, other in zip(BINARIES, sums, found, strict=True) if own != other]


def programs_copy(machine: RemoteMachine, client: Client) -> str:
    """The folder there that has these programs; they are copied where they are missing. Failure
    where that cannot be, or where they do not start there."""
    if refusal := system_refusal(machine.name, machine.greeting):
        raise Failure(refusal)
    folder = f"{machine.greeting.cache}/{FOLDER}/{build_digest(client)}"
    sums = [checksum(client.folder / name) for name in BINARIES]
    for name in missing_of(machine.run(LOOK_SCRIPT, [folder, *BINARIES], LOOKS_S).stdout, sums):
        done = machine.run(COPY_SCRIPT, [folder, name, sums[BINARIES.index(name)]], COPIES_S,
                           (client.folder / name).read_bytes())
        if done.returncode != 0:
            raise Unreachable(
                f"{name} cannot be copied to {folder} on {machine.name}: {said_of(done)}")
    for name in BINARIES:
        done = machine.run('exec "$@"', [f"{folder}/{name}", "--version"], LOOKS_S)
        if done.returncode != 0:
            raise Unreachable(
                f"{name} does not start on {machine.name}: {said_of(done)}; {STATIC_HINT}")
    return folder
