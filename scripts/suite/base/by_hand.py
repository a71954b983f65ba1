# SPDX-License-Identifier: MIT
"""The shell commands that repeat what the runner does: a run, its lab, its timing by hyperfine.
Pure."""

import shlex
from collections.abc import Mapping, Sequence

from suite.base import grouped
from suite.base.client import options_for_server
from suite.base.lab_words import NAMED, lab_text, lab_wanted, place_arguments
from suite.base.runner_words import LOCAL, build_of, subject_of, target_of, words_for_client
from suite.base.words import word_list

CLIENT_PROGRAM = "uncork-client"
TIMER = "hyperfine"
SUBJECTS_FILE = "subjects.json"
RECORD_FILE, TIMES_FILE = "record.json", "times.json"  # a run writes both, in a folder of its own
# The client's messages go to standard error, which hyperfine drops with --output FILE or null.
TIMER_OPTIONS = ("-N", "-r", "1", "-w", "0", "--style", "none", "--output", "inherit",
                 "--export-json", f"./{TIMES_FILE}")


def command_by_hand(given: Mapping[str, str], folders: Mapping[str, str], timer: str = "",
                    server_options: Sequence[str] = ()) -> str:
    """The command that runs a cell once on its target. Where the cell needs a lab, the lab must be
    up. given: the words of the plan; folders: of the programs, by build."""
    own, folder, target = words_for_client(given), folders.get(build_of(given)), target_of(given)
    words = word_list(own)
    command = [f"{folder}/{CLIENT_PROGRAM}" if folder else CLIENT_PROGRAM,
               *options_for_server(server_options, words),
               *(("--subjects", SUBJECTS_FILE) if subject_of(given) else ()), *words]
    if timer == TIMER:
        command[1:1] = ["--json", RECORD_FILE]
        command = [TIMER, *TIMER_OPTIONS, shlex.join(command)]
    elif lab_wanted(given):
        command[1:1] = place_arguments(own, NAMED)
        command = ["uncork", "lab", "run", *command]
    return shlex.join(command) + (f"  # target={target}" if target != LOCAL else "")


def by_hand_lines(cells: Sequence[Mapping[str, str]], folders: Mapping[str, str], timer: str = "",
                  server_options: Sequence[str] = ()) -> list[str]:
    labs = grouped((f"uncork lab up {lab_text(given)}".rstrip() if lab_wanted(given) else "",
                    command_by_hand(given, folders, timer, server_options)) for given in cells)
    lines = [f"uncork subjects --json >{SUBJECTS_FILE}"] if any(map(subject_of, cells)) else []
    lines += labs.pop("", [])
    for up, commands in labs.items():
        lines += [up, *commands, "uncork lab down"]
    return lines
