# SPDX-License-Identifier: MIT
"""What text must obey to survive a mailing list: git am, editors, checkpatch and quoting.

A rule is one line of RULES, or of WHOLE for those that look at more than a line. The printer
refuses to emit text that breaks one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from suite.base.errors import Failure

COLUMNS = 72  # git log indents by 4, and checkpatch complains from 76 on


@dataclass(frozen=True)
class Rule:
    """broken: whether a line breaks it; why: the end of a sentence that begins with the line."""

    broken: Callable[[str], bool]
    why: str


def begins(pattern: str) -> Callable[[str], bool]:
    """Whether a line begins with what the regular expression describes."""
    return lambda line: re.match(pattern, line) is not None


RULES = (
    Rule(lambda line: len(line) > COLUMNS, f"has more than {COLUMNS} columns"),
    Rule(lambda line: "\t" in line, "has a tab"),
    Rule(lambda line: line != line.rstrip(), "ends with blanks"),
    Rule(lambda line: not line.replace("\t",
                                       "").isprintable(), "has a control character (or a colour)"),
    Rule(begins(r"---(\s|$)"), "begins with ---: git am ends the message there"),
    Rule(begins(r"-{1,3}$"), "is a rule of fewer than four dashes"),
    Rule(begins(r"-{3,}[^-]"), "begins with dashes that are no rule of their own"),
    Rule(begins(r"diff -"), "begins with diff -: git am takes it for a patch"),
    Rule(begins(r"Index: "), "begins with Index: git am takes it for a patch"),
    Rule(begins(r"From\s"), "begins with From: mail programs change it"),
    Rule(begins(r"(From|Date|Subject):"), "begins with a header: git am takes it out"),
    Rule(begins(r"#"), "begins with #: editors drop it from a commit message"),
    Rule(begins(r">"), "begins with >: it would look quoted"),
)
BLOCK_RULES = (
    (lambda lines: not lines or not lines[0]
     or not lines[-1], "begins or ends with an empty line, or has none"),
    (lambda lines: any(not one and not two for one, two in zip(lines, lines[1:], strict=False)),
     "has two empty lines in a row: git keeps one"),
)


def words_wrap(text: str, first: str, indent: str) -> list[str]:
    """Words in lines, the first behind `first`, the others behind `indent`.

    A word that is longer than a line is cut, and `\\` stands where it goes on in the next.
    """
    lines, gap = [first], ""
    for word in text.split():
        if gap and len(lines[-1]) + len(gap + word) > COLUMNS:
            lines.append(indent)
            gap = ""
        while len(lines[-1]) + len(gap + word) > COLUMNS:
            room = COLUMNS - len(lines[-1]) - 1
            lines[-1] += word[:room] + "\\"
            lines.append(indent)
            word = word[room:]
        lines[-1] += gap + word
        gap = " "
    return lines


def rules_broken(lines: Sequence[str], utf8: bool = False) -> list[str]:
    """What is wrong with these lines, one sentence for each rule that is broken; ASCII only unless
    utf8."""
    rules = RULES if utf8 else (*RULES, Rule(lambda line: not line.isascii(), "is not ASCII"))
    wrong = [f'line {number} {rule.why}: "{line}"' for number, line in enumerate(lines, start=1)
             for rule in rules if rule.broken(line)]
    return wrong + [f"the block {why}" for broken, why in BLOCK_RULES if broken(lines)]


def lines_require(lines: Sequence[str], utf8: bool = False) -> None:
    """Failure, which names the first rule that is broken, unless a mail can carry these lines."""
    wrong = rules_broken(lines, utf8)
    if wrong:
        raise Failure(f"not fit for a mail: {wrong[0]}")
