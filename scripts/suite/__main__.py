# SPDX-License-Identifier: MIT
"""`uncork COMMAND ...`: picks the subcommand, and is the only place that ends the process."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from suite.base.errors import Interrupted, UncorkError, UsageError, nearest_hint
from suite.commands import COMMANDS, command_load


class Parser(argparse.ArgumentParser):
    """argparse, but an error is one line like all others."""

    def error(self, message: str) -> NoReturn:
        """Raises UsageError instead of printing the usage and leaving."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def help_text() -> str:
    """What `uncork --help` prints: one line per subcommand."""
    lines = ["usage: uncork COMMAND ...", "",
             "What a way of writing to a socket costs, and why.", ""]
    lines += [f"  {name:<8} {command_load(name).HELP}" for name in COMMANDS]
    lines += ["", "uncork COMMAND --help says more; words are key=value (uncork list shows them)."]
    return "\n".join(lines)


def command_run(arguments: list[str]) -> int:
    """Runs one subcommand and gives its exit status."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(help_text(), file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    name, *rest = arguments
    if name not in COMMANDS:
        raise UsageError(f'unknown command "{name}"{nearest_hint(name, COMMANDS)}')
    module = command_load(name)
    parser = Parser(prog=f"uncork {name}", description=module.HELP, allow_abbrev=False)
    module.arguments(parser)
    parse = getattr(module, "parse", Parser.parse_intermixed_args)
    status = module.main(parse(parser, rest))
    sys.stdout.flush()
    return status


def main(arguments: list[str]) -> int:
    """The exit status: 0 done, 1 could not, 2 wrong words, 3 undecided, 130 and 143 by a signal."""
    return answered(lambda: command_run(arguments))


def answered(work: Callable[[], int]) -> int:
    """The exit status of work; what is wrong becomes one line on standard error."""
    try:
        return work()
    except (UncorkError, KeyboardInterrupt) as error:
        told = Interrupted(error) if isinstance(error, KeyboardInterrupt) else error
        print(f"uncork: {told}", file=sys.stderr)
        return told.status
    except BrokenPipeError:
        # The reader went away (`uncork table R | head`): not an error of ours; the interpreter
        # must not find the pipe again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"uncork: {where}{error.strerror or error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
