# SPDX-License-Identifier: MIT
"""The programs on another machine: copied there once for each build, checked at each connection.

A file is written under another name, and renamed when its size and checksum are right. So no
incomplete file has the name of a program. Every system has cksum(1).
"""

import platform
import subprocess
from dataclasses import replace
from pathlib import Path

from suite.base import ROOT
from suite.base.client import BINARIES, LIBRARY, Client, build_digest, client_require, fault_text
from suite.base.errors import Failure, Unreachable
from suite.base.installation import STATIC_HINT
from suite.places.ssh.machine import Greeting, LocalMachine, RemoteMachine
from suite.scenario.subject import definitions_file

# below the cache folder of the user there
PROGRAMS_FOLDER, SUBJECTS_FOLDER = "uncork/bin", "uncork/subjects"
CHECK_LIMIT_S = 30.0
COPY_LIMIT_S = 600.0  # for 20 MB over a slow line
CHECKSUM_SCRIPT = ('cd "$1" 2>/dev/null && shift && for name; do '
                   'cksum <"$name" 2>/dev/null || echo none; done; exit 0')
COPY_SCRIPT = ('umask 077; new="$1/$2.$$"; mkdir -p "$1" && cat >"$new" && chmod 700 "$new" && '
               '[ "$(cksum <"$new")" = "$3" ] && mv -f "$new" "$1/$2" && exit 0; '
               'rm -f "$new"; exit 1')
STATIC = ROOT / "build" / "static"


def programs_choose(client: Client) -> Client:
    """The static build, if it has been configured and the user has chosen no other build."""
    if client.built is None or not (STATIC / "CMakeCache.txt").exists():
        return client
    return client_require(replace(client, folder=STATIC / "bin", built=STATIC))


def checksum(path: Path) -> str:
    """What cksum(1) prints of a file: `CRC SIZE`."""
    return subprocess.run(["cksum"], input=path.read_bytes(), capture_output=True,
                          check=True).stdout.decode().strip()


def system_refusal(name: str, greeting: Greeting) -> str | None:
    own = f"{platform.system()} {platform.machine()}"
    return None if greeting.system == own else (
        f"{name} is {greeting.system}, and these programs are for {own}: nothing would start there")


def files_missing(printed: bytes, sums: dict[str, str]) -> list[str]:
    """The files that differ there or are missing. printed: the output of CHECKSUM_SCRIPT."""
    found = [line.strip() for line in printed.decode(errors="replace").splitlines()][-len(sums):]
    if len(found) < len(sums):
        return list(sums)
    return [name for name, other in zip(sums, found, strict=True) if sums[name] != other]


def script_run(machine: RemoteMachine, what: str, script: str, arguments: list[str],
               limit_s: float, given: bytes = b"", hint: str = "") -> None:
    """Runs a script there. Unreachable where it fails; the message begins with what."""
    done = machine.run(script, arguments, limit_s, given)
    if done.returncode != 0:
        why = fault_text(done.stderr.decode(errors="replace"), done.returncode)
        raise Unreachable(f"{what} on {machine.name}: {why}{hint}")


def files_copy(machine: RemoteMachine, files: dict[str, Path], folder: str) -> None:
    sums = {name: checksum(path) for name, path in files.items()}
    printed = machine.run(CHECKSUM_SCRIPT, [folder, *sums], CHECK_LIMIT_S).stdout
    for name in files_missing(printed, sums):
        script_run(machine, f"{name} cannot be copied to {folder}", COPY_SCRIPT,
                   [folder, name, sums[name]], COPY_LIMIT_S, files[name].read_bytes())


def programs_copy(machine: RemoteMachine, client: Client) -> str:
    """The folder there with these programs; copies and tries those that are missing."""
    if refusal := system_refusal(machine.name, machine.greeting):
        raise Failure(refusal)
    folder = f"{machine.greeting.cache}/{PROGRAMS_FOLDER}/{build_digest(client)}"
    files_copy(machine, {name: client.folder / name for name in (*BINARIES, LIBRARY)
                         if name != LIBRARY or (client.folder / name).exists()}, folder)
    for name in BINARIES:
        script_run(machine, f"{name} does not start", 'exec "$@"',
                   [f"{folder}/{name}", "--version"], CHECK_LIMIT_S, hint=f"; {STATIC_HINT}")
    return folder


def definitions_copy() -> tuple[Path, str]:
    """The file with the definitions of subjects, and the name of its copy on other machines."""
    path = Path(definitions_file())
    return path, f"{checksum(path).replace(' ', '-')}.json"


def definitions_place(machine: LocalMachine) -> str:
    """The path of the definitions of subjects on a machine; copies them if they are missing."""
    path, name = definitions_copy()
    if not isinstance(machine, RemoteMachine):
        return str(path)
    machine.require()
    folder = f"{machine.greeting.cache}/{SUBJECTS_FOLDER}"
    files_copy(machine, {name: path}, folder)
    return f"{folder}/{name}"


def programs_folder(machine: LocalMachine, folder: Path) -> str:
    if not isinstance(machine, RemoteMachine):
        return str(folder)
    machine.require()
    if folder not in machine.copies:
        machine.copies[folder] = programs_copy(machine, Client(folder, None))
    return machine.copies[folder]
