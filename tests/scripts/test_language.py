# SPDX-License-Identifier: MIT
"""What a user reads first is short: README.md and every help text."""

from __future__ import annotations

import re
import subprocess

import pytest

from conftest import ROOT
from suite.commands import COMMANDS

README_WORDS_MOST = 1300
SENTENCE_WORDS_MOST = 25
# a sentence ends with its mark, a blank line, an item of a list or the cell of a table
ENDS = re.compile(r"[.;:](?=\s|$)|\n\s*\n|\n(?=\s*[-|])| \| |  +")


def long_sentences(text: str) -> list[str]:
    joined = re.sub(r"\n {8,}", " ", text)  # an option and its help in a column
    return [" ".join(sentence.split()) for sentence in ENDS.split(joined)
            if sum(bool(re.search(r"\w", word)) for word in sentence.split())
            > SENTENCE_WORDS_MOST]


def test_a_long_sentence_is_found():
    short = "one two three four five\n" * 5
    assert not long_sentences(f"{short}. {short}; {short}\n\n{short}")
    assert long_sentences(f"{short} more.") == [f"{' '.join(short.split())} more"]


def test_the_readme_has_at_most_1300_words():
    assert len((ROOT / "README.md").read_text().split()) <= README_WORDS_MOST


def test_no_sentence_of_the_readme_is_longer_than_25_words():
    text = re.sub(r"^```.*?^```$", "\n\n", (ROOT / "README.md").read_text(), flags=re.M | re.S)
    assert not long_sentences(text)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_no_sentence_of_the_help_of_a_command_is_longer_than_25_words(uncork, command):
    done = uncork.run("help", *([command] if command else []))
    assert done.returncode == 0 and not long_sentences(done.stdout)


@pytest.mark.parametrize("program", ["uncork-client", "uncork-server"])
def test_no_sentence_of_the_help_of_a_program_is_longer_than_25_words(uncork, program):
    done = subprocess.run([uncork.bin / program, "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and not long_sentences(done.stdout)
