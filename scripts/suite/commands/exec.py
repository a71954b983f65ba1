# SPDX-License-Identifier: MIT
"""`uncork exec [override=CHANGE] -- COMMAND`: becomes uncork-exec, which runs COMMAND."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from suite.base import ROOT
from suite.base.client import client_place
from suite.base.errors import Failure, UsageError
from suite.base.installation import BUILD_HINT
from suite.scenario.subject import Subject, programs_read

PROGRAM = "uncork-exec"


def subject_name(command: Sequence[str]) -> str | None:
    """The subject of `uncork run` that a command starts; None if it starts no subject."""
    name = Path(command[0]).name
    return next((known for known in (name, name.removesuffix("-server"))
                 if isinstance(programs_read().get(known), Subject)), None)


def subject_words(name: str, command: Sequence[str]) -> str:
    """The value of `subject=` and more words, for a run like the use of this server."""
    subject = programs_read()[name]
    protocol = subject.protocols[0]
    operation = "read" if protocol.startswith("nbd") else "get"
    tls = subject.arguments_tls is not None and any("tls" in argument for argument in command)
    return f"{name} protocol={protocol} op={operation}:4K{' security=gnutls' if tls else ''}"


def words_and_command(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    count = 0
    while count < len(texts) and texts[count] != "--" and (
            "=" in texts[count] or texts[count].startswith("-")
            or texts[count - 1:count] == ["--json"]):
        count += 1
    command = list(texts[count:])
    command = command[1:] if command[:1] == ["--"] else command
    if not command:
        raise UsageError("nothing to run: uncork exec [override=more:64] -- COMMAND")
    return list(texts[:count]), command


def environment() -> dict[str, str]:
    """The user's environment: without the folder that scripts/uncork adds to PYTHONPATH."""
    kept = dict(os.environ)
    paths = kept.pop("PYTHONPATH", "").split(os.pathsep)
    if others := [path for path in paths if path and Path(path) != ROOT / "scripts"]:
        kept["PYTHONPATH"] = os.pathsep.join(others)
    return kept


def main(options: argparse.Namespace) -> int:
    """Does not return: the exit status is that of COMMAND."""
    words, command = words_and_command(options.command)
    if options.json is not None:
        words += ["--json", *filter(None, [options.json])]
    if subject := subject_name(command):
        words += ["--subject", subject_words(subject, command)]
    program = client_place().folder / PROGRAM
    try:
        os.execve(program, [program.name, *words, "--", *command], environment())
    except OSError as error:
        raise Failure(f"{program}: {error.strerror}: {BUILD_HINT}") from None
