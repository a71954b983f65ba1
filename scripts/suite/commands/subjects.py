# SPDX-License-Identifier: MIT
"""`uncork subjects`: the subjects and loads, each with its version here or what is missing."""

import argparse

from suite.base.text import labelled_lines, terminal_width
from suite.base.words import words_text
from suite.scenario import subject


def program_rows(program: subject.Program) -> list[tuple[str, str]]:
    words = {f"{program.name}.{key}": value for key, value in program.defaults.items()}
    tls = ", TLS" if program.arguments_tls is not None else ""
    moves = [("moves", program.moves)] if isinstance(program, subject.Load) else []
    return [("is", program.says),
            ("here", subject.version_read(program) or subject.missing_text(program)),
            ("speaks", f"{', '.join(program.protocols)}; {', '.join(program.transports)}{tls}"),
            *moves, ("words", words_text(words)),
            ("packages", "none" if program.apt == subject.NO_PACKAGE
             else f"apt {program.apt}, dnf {program.dnf}")]


def main(options: argparse.Namespace) -> None:
    programs, width = subject.programs_read(), terminal_width(100)
    print(subject.definitions_text(programs) if options.json else
          "\n\n".join("\n".join([f"{one.kind}={name}", *labelled_lines(
              program_rows(one), width, "  ")]) for name, one in programs.items()))
