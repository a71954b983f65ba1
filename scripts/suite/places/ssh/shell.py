# SPDX-License-Identifier: MIT
"""Commands that a login shell of any kind understands. Pure.

ssh(1) gives a command to the login shell of the user: sh, csh or fish. All of them agree on what
stands between single quotes, if it is one line without a quote, a backslash and an exclamation
mark. So commands use only that, and whatever does more than start a program is a script for sh.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from suite.base.errors import Failure

UNQUOTABLE = re.compile(r"['\\!\x00-\x1f\x7f]")
KEY_FILE = "/dev/fd/3"  # where a program reads the key that it was started with

# Reads a line, the key, from standard input and passes it to the program by a pipe: others could
# read an argument, the environment or a file. What follows on standard input is the program's, and
# its end tells the program that the runner has ended.
KEYED = 'IFS= read -r key; exec 4<&0; echo "$key" | { exec 3<&0 0<&4 4<&-; exec "$@"; }'


def word_quote(word: str) -> str:
    """A word for any shell; Failure for one that not all of them would understand."""
    found = UNQUOTABLE.search(word)
    if found:
        raise Failure(
            f"{word!r} cannot be said to the shell of another machine: {found[0]!r} is in it")
    return f"'{word}'"


def exec_line(words: Sequence[str]) -> str:
    """The line that makes a login shell become a program."""
    return " ".join(["exec", *map(word_quote, words)])


def script_words(script: str, arguments: Sequence[str] = ()) -> tuple[str, ...]:
    """A script for sh as a program; $1 is the first of the arguments."""
    return "sh", "-c", script, "sh", *arguments


def keyed_words(words: Sequence[str]) -> tuple[str, ...]:
    """A program that gets a key on standard input, before all else."""
    return script_words(KEYED, words)
