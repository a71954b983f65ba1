# SPDX-License-Identifier: MIT
"""Commands that a person types to do what the runner does: a run, its lab, its timing by hyperfine.
Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence

from suite.base.client import options_for_server
from suite.base.lab_words import lab_text, lab_wanted, namespace_file, place_arguments
from suite.base.runner_words import LOCAL, TARGET, build_of, target_of, words_for_client

CLIENT_PROGRAM = "uncork-client"


def client_command(given: Mapping[str, str], server_options: Sequence[str] = (),
                   program: str = CLIENT_PROGRAM) -> str:
    """The command of a cell by hand, in a standing lab if need be; given: words of the plan."""
    words = [f"{key}={value}" for key, value in given.items()]
    words[:0] = options_for_server(server_options, words)
    program = shlex.quote(program)
    if not lab_wanted(given):
        return " ".join([program, shlex.join(words)]).rstrip()
    return " ".join(["uncork lab run", program, *place_arguments(given, namespace_file),
                     shlex.join(words)])


def by_hand_lines(cells: Sequence[Mapping[str, str]],
                  command: Callable[[Mapping[str, str]], str] = client_command) -> list[str]:
    """The commands that run these cells by hand, those of one lab together."""
    labs: dict[str, list[str]] = {}
    for given in cells:
        up = f"uncork lab up {lab_text(given)}".rstrip() if lab_wanted(given) else ""
        labs.setdefault(up, []).append(command(given))
    lines = labs.pop("", [])
    for up, commands in labs.items():
        lines += [up, *commands, "uncork lab down"]
    return lines


def command_by_hand(given: Mapping[str, str], server_options: Sequence[str],
                    folders: Mapping[str, str]) -> str:
    """The command of a cell by hand, where its target is; folders: of the programs, by build."""
    folder, target = folders.get(build_of(given)), target_of(given)
    program = f"{folder}/{CLIENT_PROGRAM}" if folder else CLIENT_PROGRAM
    comment = f"  # {TARGET}={target}" if target != LOCAL else ""
    return client_command(words_for_client(given), server_options, program) + comment


TIMER = "hyperfine"
RECORD_FILE, TIMES_FILE = "record.json", "times.json"  # what a run leaves, in a folder of its own

# With --output FILE or null hyperfine throws away standard error, where the client's messages are.
TIMER_OPTIONS = ("-N", "-r", "1", "-w", "0", "--style", "none", "--output", "inherit",
                 "--export-json", f"./{TIMES_FILE}")


def timed_by_hand(command: str) -> str:
    """The command that times a run by hyperfine; command: what client_command() made."""
    program, *words = shlex.split(command)
    return shlex.join([TIMER, *TIMER_OPTIONS, shlex.join([program, "--json", RECORD_FILE, *words])])
