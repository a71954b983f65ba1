# SPDX-License-Identifier: MIT
"""The rules for text that survives a mailing list: git am, editors, checkpatch and quoting.

A rule is a test that is true for a line that breaks it, and the reason. A block with such a line is
not printed.
"""

import re
import textwrap
from collections.abc import Callable, Sequence

from suite.base.errors import Failure

COLUMNS = 72  # git log indents by 4, and checkpatch complains from 76 on
RULES: tuple[tuple[Callable[[str], object], str], ...] = (
    (lambda line: len(line) > COLUMNS, f"has more than {COLUMNS} columns"),
    (lambda line: "\t" in line, "has a tab"),
    (lambda line: line != line.rstrip(), "ends with blanks"),
    (lambda line: not line.replace("\t", "").isprintable(),
     "has a control character (or a colour)"),
    (re.compile(r"-(?! |-{3,}$)").match,
     "begins with dashes and is no rule of four or more: git am may end the message there"),
    (re.compile(r"diff -|Index: ").match, "begins as a patch: git am takes it for one"),
    (re.compile(r"From\s").match, "begins with From: mail programs change it"),
    (re.compile(r"(From|Date|Subject):").match, "begins with a header: git am takes it out"),
    (re.compile(r"#").match, "begins with #: editors drop it from a commit message"),
    (re.compile(r">").match, "begins with >: it would look quoted"),
)


def words_wrap(text: str, first: str, indent: str) -> list[str]:
    """The words in lines: the first line begins with `first`, the others with `indent`. A word
    longer than a line is cut, with a `\\` at each cut."""
    lines = []
    for line in textwrap.wrap(text, COLUMNS, initial_indent=first, subsequent_indent=indent,
                              break_long_words=False, break_on_hyphens=False):
        while len(line) > COLUMNS:
            lines.append(line[:COLUMNS - 1] + "\\")
            line = indent + line[COLUMNS - 1:]
        lines.append(line)
    return lines


def lines_require(lines: Sequence[str], utf8: bool = False) -> None:
    """Failure with the first rule that these lines break. utf8: not only ASCII is allowed."""
    rules = RULES if utf8 else (*RULES, (lambda line: not line.isascii(), "is not ASCII"))
    for number, line in enumerate(lines, start=1):
        for broken, why in rules:
            if broken(line):
                raise Failure(f'not fit for a mail: line {number} {why}: "{line}"')
