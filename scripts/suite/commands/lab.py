# SPDX-License-Identifier: MIT
"""`uncork lab up|status|run|down`: a lab that stays up until `uncork lab down`."""

import argparse
import os
from collections.abc import Mapping, Sequence

from suite.base.client import client_check, client_open, client_place
from suite.base.errors import Failure, UsageError, nearest_hint
from suite.base.lab_words import LINK_WORDS, SYSCTL_WORD
from suite.base.words import words_split
from suite.places.lab import host_enter, lab_down, lab_status, lab_up


def words_read(texts: Sequence[str]) -> Mapping[str, str]:
    """The words of a lab with their defaults, after a check by the client."""
    known = (*LINK_WORDS, SYSCTL_WORD)
    for key in words_split(texts):
        if key not in known:
            raise UsageError(f'"{key}" is no word of a lab{nearest_hint(key, known)}')
    (checked,) = client_check(client_open(), [" ".join(["lab=on", *texts])])
    return checked.words


def run(host: str, command: Sequence[str]) -> None:
    """Replaces this process by the command on a host; PATH gets the folder of the binaries."""
    if not command:
        raise UsageError("nothing to run: uncork lab run CMD ...")
    host_enter(host)
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), str(client_place().folder)])
    try:
        os.execvpe(command[0], list(command), os.environ | {"PATH": path})
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from None


def main(options: argparse.Namespace) -> None:
    if options.part == "run":
        run(options.on, options.command)
    if options.part == "up":
        lab_up(words_read(options.words))
    for line in lab_down() if options.part == "down" else lab_status():
        print(line)
