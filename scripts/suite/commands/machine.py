# SPDX-License-Identifier: MIT
"""This machine and its programs: `uncork doctor`, `subjects`, `setup`, `lab` and `exec`."""

import argparse
import json
import os
import subprocess
from collections.abc import Sequence
from itertools import dropwhile
from pathlib import Path

from suite.base import ROOT
from suite.base.client import client_check, client_open, client_place
from suite.base.errors import Failure, UsageError, nearest_hint
from suite.base.installation import BUILD_HINT
from suite.base.lab_words import LINK_WORDS, SYSCTL_WORD
from suite.base.runner_words import TARGET, target_of
from suite.base.text import block, terminal_width
from suite.base.words import words_split, words_text
from suite.doctor.checks import findings_collect
from suite.doctor.finding import CellWords, Finding, Status, findings_documents, findings_text
from suite.measure.plan import plan_make
from suite.measure.words import scenario_choose
from suite.places.lab import host_enter, lab_down, lab_status, lab_up
from suite.places.targets import LocalTargets, targets_require
from suite.scenario import subject

WATCH_S = 0.5  # some 50 clock ticks of each CPU, enough to measure its load in percent


def uncork_doctor(options: argparse.Namespace) -> None:
    words = CellWords()
    if options.words:
        planned = plan_make(LocalTargets(client_open()), *scenario_choose(options.words))
        words = CellWords(tuple(cell.words for cell in planned.plan.cells))
    findings = findings_collect(words, WATCH_S)
    try:
        targets_require(map(target_of, words.cells or ()))
    except (Failure, UsageError) as error:
        lacks = Finding(Status.DISTURBS, str(error), "the run does not begin")
        findings = {TARGET: lacks} | findings
    if options.json:
        print(json.dumps({"findings": findings_documents(findings)}, indent=1))
    else:
        print(findings_text(findings, options.all, terminal_width(100)), end="")


def program_rows(program: subject.Program) -> list[tuple[str, str]]:
    """What is known of a subject or a load, with its version here or what is missing."""
    words = {f"{program.name}.{key}": value for key, value in program.defaults.items()}
    tls = ", TLS" if program.arguments_tls is not None else ""
    moves = [("moves", program.moves)] if isinstance(program, subject.Load) else []
    return [("is", program.says),
            ("here", subject.version_read(program) or subject.missing_text(program)),
            ("speaks", f"{', '.join(program.protocols)}; {', '.join(program.transports)}{tls}"),
            *moves, ("words", words_text(words)),
            ("packages", "none" if program.apt == subject.NO_PACKAGE
             else f"apt {program.apt}, dnf {program.dnf}")]


def uncork_subjects(options: argparse.Namespace) -> None:
    programs = subject.programs_read()
    print(Path(subject.definitions_file()).read_text() if options.json else "\n\n".join(
        block(f"{one.kind}={name}", program_rows(one)) for name, one in programs.items()))


def uncork_setup(options: argparse.Namespace) -> int:
    listed = None if options.names else subprocess.PIPE  # a shell prints a line per failed write
    done = subprocess.run([ROOT / "scripts/setup/target", *options.names], stdout=listed, text=True)
    print(done.stdout or "", end="")
    return done.returncode


# ---- uncork lab ----

def uncork_lab_up(options: argparse.Namespace) -> None:
    """Makes a lab that stays up until `uncork lab down`."""
    known = (*LINK_WORDS, SYSCTL_WORD)
    for key in words_split(options.words):
        if key not in known:
            raise UsageError(f'"{key}" is no word of a lab{nearest_hint(key, known)}')
    # the client adds the defaults
    (checked,) = client_check(client_open(), [" ".join(["lab=on", *options.words])])
    lab_up(checked.words)
    uncork_lab_status(options)


def uncork_lab_status(options: argparse.Namespace) -> None:
    print(*lab_status(), sep="\n")


def uncork_lab_run(options: argparse.Namespace) -> None:
    """Replaces this process by the command on a host; PATH gets the folder of the binaries."""
    if not (command := options.command):
        raise UsageError("nothing to run: uncork lab run CMD ...")
    host_enter(options.on)
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), str(client_place().folder)])
    try:
        os.execvpe(command[0], command, os.environ | {"PATH": path})
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from None


def uncork_lab_down(options: argparse.Namespace) -> None:
    for line in lab_down():
        print(line)


# ---- uncork exec ----

def subject_words(command: Sequence[str]) -> str:
    """The value of `subject=` and more words, for a run like the use of the server that a command
    starts; empty if it starts no subject."""
    name = Path(command[0]).name.removesuffix("-server")
    server = subject.programs_read().get(name)
    if not isinstance(server, subject.Subject):
        return ""
    protocol = server.protocols[0]
    operation = "read" if protocol.startswith("nbd") else "get"
    tls = server.arguments_tls is not None and any("tls" in argument for argument in command)
    return f"{name} protocol={protocol} op={operation}:4K{' security=gnutls' if tls else ''}"


def uncork_exec(options: argparse.Namespace) -> None:
    """Becomes uncork-exec, which runs COMMAND: the exit status is that of COMMAND."""
    given = [] if options.json is None else ["--json", *filter(None, [options.json])]
    command = [*dropwhile(lambda text: "=" in text or text.startswith("-"), options.command)]
    if command and (words := subject_words(command)):
        given += ["--subject", words]
    program = client_place().folder / "uncork-exec"
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)  # with the modules of uncork
    others = os.pathsep.join(path for path in paths if Path(path) != ROOT / "scripts")
    try:
        os.execve(program, [program.name, *given, *options.command],
                  os.environ | {"PYTHONPATH": others})
    except OSError as error:
        raise Failure(f"{program}: {error.strerror}: {BUILD_HINT}") from None
