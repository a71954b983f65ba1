# SPDX-License-Identifier: MIT
"""What another machine's shell is told. Pure.

ssh(1) gives a command to the login shell of the user, whichever that is: sh, csh or fish. They
agree on what stands between single quotes as long as it has no quote, no backslash, no exclamation
mark and one line only. So that is all that is used, and whatever is more than starting a program is
a script for sh.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from suite.base.errors import Failure

UNQUOTABLE = re.compile(r"['\\!\x00-\x1f\x7f]")
KEY_FILE = "/dev/fd/3"  # where a program finds the key that it was started with

# Reads a line, the key, from standard input and gives it to the program by a pipe: an argument, the
# environment or a file could be read by others. What follows on standard input is the program's,
# and tells it when we have gone.
KEYED = 'IFS= read -r key; exec 4<&0; echo "$key" | { exec 3<&0 0<&4 4<&-; exec "$@"; }'


def word_quote(word: str) -> str:
    """A word for any shell; Failure for one that not all of them would understand."""
    found = UNQUOTABLE.search(word)
    if found:
        raise Failure(
            f"{word!r} cannot be said to the shell of another machine: {found[0]!r} is in it")
    return f"'{word}'"


def words_line(words: Sequence[str]) -> str:
    """The line that makes a login shell become a program."""
    return " ".join(["exec", *map(word_quote, words)])


def script_words(script: str, arguments: Sequence[str] = ()) -> tuple[str, ...]:
    """A script for sh as a program with arguments: $1 is the first of these."""
    return "sh", "-c", script, "sh", *arguments


def keyed_words(words: Sequence[str]) -> tuple[str, ...]:
    """A program that is given a key on standard input, before all else."""
    return script_words(KEYED, words)
