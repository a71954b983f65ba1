# SPDX-License-Identifier: MIT
"""`uncork COMMAND ...`: calls the subcommand. Only this module ends the process."""

import contextlib
import errno
import fcntl
import gc
import importlib
import io
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from suite.base.errors import Signalled, UncorkError, UsageError, nearest_hint
from suite.commands import COMMANDS, EXIT, NO_COMMANDS, TEXTS, parser_make


def help_text() -> str:
    commands = "\n".join(f"  {name:<8} {command.help}" for name, command in COMMANDS.items())
    return TEXTS["usage"].format(commands=commands, exit=EXIT)


def command_run(arguments: list[str]) -> int:
    if not arguments:
        print(help_text(), end="", file=sys.stderr)
        return 2
    name, *rest = arguments
    if name == "help" and rest:
        name, rest = rest[0], ["--help"]
    if name == "--version":
        from suite.base.client import client_list, client_open
        document = client_list(client_open()).document
        print(f"uncork {document['uncork']} ({document['revision']})")
        return 0
    if name in ("-h", "--help", "help"):
        print(help_text(), end="")
        return 0
    if name not in COMMANDS:
        raise UsageError(f'unknown command "{name}"{nearest_hint(name, [*COMMANDS, *NO_COMMANDS])}')
    parser, command = parser_make(name), COMMANDS[name]
    parse = parser.parse_args if command.in_order else parser.parse_intermixed_args
    options = parse(rest)  # before the command is imported, and pandas with it
    module = importlib.import_module(f"suite.commands.{command.module or name}")
    function = "_".join(["uncork", name, *([options.part] if command.parts else [])])
    return int(getattr(module, function)(options) or 0)


def main(arguments: list[str]) -> int:
    """Runs the command and returns the exit status."""
    return errors_print(lambda: command_run(arguments))


def errors_print(work: Callable[[], int]) -> int:
    """Calls work and returns its exit status; prints an error as one line on standard error."""
    try:
        status = work()
        print(end="", flush=True)
        return status
    except UncorkError as error:
        print(f"uncork: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt as error:
        number = error.args[0] if isinstance(error, Signalled) else signal.SIGINT
        how = "interrupted" if number == signal.SIGINT else (
            f"ended by {signal.Signals(number).name}")
        print("uncork", how, *getattr(error, "__notes__", ()), sep=": ", file=sys.stderr)
        return 128 + number
    except BrokenPipeError:
        # The reader has closed the pipe (`uncork table R | head`): no error. At exit the
        # interpreter flushes standard output, which must not be that pipe any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (MemoryError, ImportError):
        # Without memory a package says in many lines that a library of it cannot be loaded.
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            raise
        print(f"uncork: there is too little memory: ulimit -v is {limit // 1024}", file=sys.stderr)
        return 1
    except UnicodeEncodeError as error:
        text = error.object[max(0, error.start - 20):error.end]
        print(f"uncork: not UTF-8, so no file can have it: {text!a}", file=sys.stderr)
        return 1
    except OSError as error:
        name = error.filename or ("standard output" if error.errno == errno.ENOSPC else "")
        print("uncork", *filter(None, [name]), error.strerror or error,
              *getattr(error, "__notes__", ()), sep=": ", file=sys.stderr)
        return 1


def is_usable(descriptor: int) -> bool:
    """Whether a standard stream is open. bash opens its script as a stream that is closed: such a
    descriptor has the wrong direction."""
    try:
        mode = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
    except OSError:
        return False
    return mode != (os.O_RDONLY if descriptor else os.O_WRONLY)


def streams_check() -> None:
    """Ends the process where standard output is closed: what it prints would be lost, or be in the
    first file that it opens. Other closed streams become /dev/null. Prints names as the bytes that
    they are."""
    if sys.stdout is None:
        with contextlib.suppress(OSError):
            os.write(2, b"uncork: standard output is closed\n")
        os._exit(1)
    for descriptor in (0, 2):
        if not is_usable(descriptor):
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
            os.set_inheritable(descriptor, True)  # dup2(2) changes nothing if both are the same
    sys.stderr = sys.stderr or os.fdopen(2, "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")


def process_exit(status: int) -> NoReturn:
    """Ends the process without freeing every object, which takes a fifth of the time of a table."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):  # no stream is left to report it
            print(end="", file=stream, flush=True)
    os._exit(status)


if __name__ == "__main__":
    # The import of pandas makes some 100 000 objects that stay. Garbage collections meanwhile would
    # take a tenth of the start.
    gc.set_threshold(1_000_000)
    streams_check()
    process_exit(main(sys.argv[1:]))
