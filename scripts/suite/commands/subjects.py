# SPDX-License-Identifier: MIT
"""`uncork subjects`: the subjects and loads, each with its version here or what is missing."""

import argparse

from suite.base.text import labelled_lines, terminal_width
from suite.base.words import words_text
from suite.scenario.subject import (
    NO_PACKAGE,
    Load,
    Program,
    definitions_text,
    missing_text,
    programs_read,
    version_read,
)

WIDTH_MAX = 100


def program_rows(subject: Program) -> list[tuple[str, str]]:
    words = {f"{subject.name}.{key}": value for key, value in subject.defaults.items()}
    tls = ", TLS" if subject.arguments_tls is not None else ""
    moves = [("moves", subject.moves)] if isinstance(subject, Load) else []
    return [("is", subject.says), ("here", version_read(subject) or missing_text(subject)),
            ("speaks", f"{', '.join(subject.protocols)}; {', '.join(subject.transports)}{tls}"),
            *moves, ("words", words_text(words)), ("packages", "none" if subject.apt == NO_PACKAGE
                                                   else f"apt {subject.apt}, dnf {subject.dnf}")]


def main(options: argparse.Namespace) -> None:
    programs = programs_read()
    width = terminal_width(WIDTH_MAX)
    print(definitions_text(programs) if options.json else
          "\n\n".join("\n".join([f"{one.kind}={name}", *labelled_lines(
              program_rows(one), width, "  ")]) for name, one in programs.items()))
