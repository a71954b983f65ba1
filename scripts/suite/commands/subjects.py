# SPDX-License-Identifier: MIT
"""`uncork subjects`: the servers that can be measured, with their versions, or what is missing."""

import argparse

from suite.base.text import labelled_lines, terminal_width
from suite.base.words import words_text
from suite.scenario.subject import (
    Subject,
    definitions_text,
    missing_text,
    subjects_read,
    version_read,
)

WIDTH_MAX = 100


def subject_rows(subject: Subject) -> list[tuple[str, str]]:
    words = {f"{subject.name}.{key}": value for key, value in subject.defaults.items()}
    tls = ", TLS" if subject.arguments_tls is not None else ""
    return [("is", subject.says), ("here", version_read(subject) or missing_text(subject)),
            ("speaks", f"{', '.join(subject.protocols)}; {', '.join(subject.transports)}{tls}"),
            ("words", words_text(words)), ("packages", f"apt {subject.apt}, dnf {subject.dnf}")]


def main(options: argparse.Namespace) -> int:
    """Prints all of them, or their definitions for uncork-client --subjects."""
    subjects = subjects_read()
    width = terminal_width(WIDTH_MAX)
    print(definitions_text(subjects) if options.json else
          "\n\n".join("\n".join([f"subject={name}", *labelled_lines(
              subject_rows(subject), width, "  ")]) for name, subject in subjects.items()))
    return 0
