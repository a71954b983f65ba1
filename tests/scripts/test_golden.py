# SPDX-License-Identifier: MIT
"""Every format of tables, comparisons, claims, blocks and pages, byte for byte, of one small result
with an answer, claims of every outcome, a row with too few rounds and one that failed."""

from __future__ import annotations

import pytest

from answers import golden_check, matrix_of, page_body, uncork
from readers import compare_json, places_of
from suite.contrast.contrast import Verdict
from suite.decide.claims import claims_decide
from truth import Truth, truth_write

DOUBTED = Truth({"write=cork place=together": 0.8}, rounds=6,
                sweep={"place": ["together", "apart"], "write": ["nodelay", "cork", "more"]},
                fails={"write=more place=apart": range(7)})
ASKED = '''
[[answer]]
asks = "Which write?"
word = "write"
metric = "time_per_message"
where = "place=together"

[[claim]]
says = "a message is 15 segments"
that = "segments_per_message(write=cork place=apart) == 15"

[[claim]]
says = "corking is faster on one CPU"
that = """
time_per_message(write=cork place=together) < time_per_message(write=nodelay place=together)
"""

[[claim]]
says = "a message takes a microsecond"
that = "time_per_message(write=cork place=together) < 1e-6"
'''
COLUMNS = "columns=time_per_message"
COMMANDS = {
    "table.txt": ("table", COLUMNS), "table.md": ("table", COLUMNS, "--md"),
    "table.csv": ("table", COLUMNS, "--csv"), "table.json": ("table", COLUMNS, "--json"),
    "table.html": ("table", COLUMNS, "--html"),
    "gain.txt": ("table", COLUMNS, "gain=time_per_message"),
    "gain.csv": ("table", COLUMNS, "gain=time_per_message", "--csv"),
    "best.txt": ("table", COLUMNS, "best=write"),
    "best.csv": ("table", COLUMNS, "best=write", "--csv"),
    "show-failed.txt": ("show", "write=more", "place=apart"),
    "compare.txt": ("compare",), "compare.md": ("compare", "--md"),
    "compare.csv": ("compare", "--csv"), "compare.json": ("compare", "--json"),
    "compare.html": ("compare", "--html"), "check.tap": ("check",),
    "paste.plain": ("paste", "write=more"),
    "report.html": ("report", "-o", "-"),
}


@pytest.fixture(scope="module")
def doubted(tmp_path_factory):
    """The folder of the result."""
    folder = truth_write("doubted", DOUBTED, tmp_path_factory.mktemp("golden"))
    with (folder / "scenario.toml").open("a") as file:
        file.write(ASKED)
    return folder


def test_the_result_has_what_these_files_are_for(doubted):
    matrix = matrix_of(doubted)
    rows = compare_json([matrix], "time_per_message")
    assert [claim.outcome for claim in claims_decide(matrix)] == ["ok", "undecided", "not ok"]
    assert rows["together", "cork"].verdict is Verdict.UNKNOWN
    assert ("apart", "more") in places_of(matrix) and ("apart", "more") not in rows


@pytest.mark.parametrize("name", COMMANDS)
def test_each_format_of_each_command(doubted, name, monkeypatch):
    command, *words = COMMANDS[name]
    if command == "report":  # what gnuplot draws differs between its versions
        monkeypatch.setattr("suite.commands.compare.drawings_draw", lambda drawings: ())
    done = uncork(command, doubted, *words)
    assert done.returncode == (1 if command == "check" else 0), done.stderr
    text = done.stdout.replace(str(doubted), "RESULTS")
    golden_check(f"doubted/{name}", page_body(text) or text)
