# SPDX-License-Identifier: MIT
"""`uncork lab up|down|status|run`: a lab that stands until it is taken down."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence

from suite.base.client import client_check, client_open, client_place
from suite.base.errors import Failure, UsageError, nearest_hint
from suite.base.lab_words import CLIENT_HOST, HOSTS, LINK_WORDS, SETTING_WORD
from suite.places.lab.namespace import namespace_enter
from suite.places.lab.persistent import host_open, lab_down, lab_status, lab_up
from suite.places.lab.probe import lab_refusal

HELP = "three network namespaces A - B - C with links of a given rate, MTU, delay and loss"
PARTS = """
  up [WORD=VALUE ...]        makes it (link_rate=1gbit link_mtu=9000 sysctl=NAME:VALUE); root only
  status                     what stands, as read back from the system
  run [--on HOST] CMD ...    runs a command inside, in A if not said otherwise; uncork-client is found
  down                       ends it; what up did not make is not touched

a run in it by hand, as uncork run -n prints it (uncork run lab=on needs none of this):
  uncork lab up link_rate=1gbit
  uncork lab run uncork-client --server-in 198.18.2.3@/run/netns/uncork-c lab=on link_rate=1gbit
  uncork lab down
with workload=proxy the proxy is in B: --proxy-in 198.18.1.2@/run/netns/uncork-b as well
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `uncork lab`."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = PARTS
    parts = parser.add_subparsers(dest="part", metavar="up|down|status|run", required=True)
    parts.add_parser("up", help="makes it").add_argument("words", nargs="*", metavar="WORD=VALUE")
    parts.add_parser("down", help="ends it")
    parts.add_parser("status", help="what stands")
    run = parts.add_parser("run", help="runs a command inside")
    run.add_argument("--on", choices=HOSTS, default=CLIENT_HOST)
    run.add_argument("command", nargs=argparse.REMAINDER, metavar="CMD")


def parse(parser: argparse.ArgumentParser, rest: Sequence[str]) -> argparse.Namespace:
    """In order: what follows a command is its own, whatever it looks like."""
    return parser.parse_args(rest)


def words_read(texts: Sequence[str]) -> Mapping[str, str]:
    """The words of a lab with their defaults, checked by the client."""
    known = (*LINK_WORDS, SETTING_WORD)
    for text in texts:
        key, equals, _ = text.partition("=")
        if not equals or key not in known:
            raise UsageError(f'"{text}" is no word of a lab{nearest_hint(key, known)}')
    try:
        (checked,) = client_check(client_open(), [" ".join(["lab=on", *texts])])
    except UsageError as error:
        raise UsageError(str(error).removeprefix("standard input:1: ")) from None
    return checked.words


def up(texts: Sequence[str]) -> None:
    """Makes a lab, and says what stands."""
    words = words_read(texts)
    reason = lab_refusal(words)
    if reason is not None:
        raise Failure(reason)
    lab_up(words)
    print("\n".join(lab_status()))


def run(host: str, command: Sequence[str]) -> None:
    """Becomes the command, inside; the binaries are found behind what PATH has."""
    if not command:
        raise UsageError("nothing to run: uncork lab run CMD ...")
    namespace_enter(host_open(host))
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), str(client_place().folder)])
    try:
        os.execvpe(command[0], list(command), os.environ | {"PATH": path})
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from None


def main(options: argparse.Namespace) -> int:
    """Does one of the parts."""
    if options.part == "up":
        up(options.words)
    elif options.part == "run":
        run(options.on, options.command)
    else:
        for line in lab_down() if options.part == "down" else lab_status():
            print(line)
    return 0
