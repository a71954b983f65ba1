# SPDX-License-Identifier: MIT
"""The man pages of uncork and of scenarios have what the programs have, and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, Uncork
from suite.base.client import Client, client_list
from suite.base.errors import UsageError
from suite.commands import COMMANDS, ENVIRONMENT
from suite.decide.expressions import COMPARISONS, claim_parse
from suite.observe.metrics import METRICS
from suite.scenario.scenario import PARTS, TOP, Scenario, part_keys, scenario_load
from suite.scenario.toml import entry_read, keys_of
from within import uncork_call

# which uncork sets for programs that it starts
PRIVATE = {"UNCORK_TOP", "UNCORK_BISECT", "UNCORK_BUILD"}


@pytest.fixture(scope="module")
def pages(binaries: Client, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all pages, written by a Python without packages."""
    folder = tmp_path_factory.mktemp("man")
    subprocess.run([sys.executable, "-I", "-S", str(ROOT / "docs/man/pages.py"), binaries.program,
                    str(folder)], check=True, timeout=60)
    return folder


def plain(text: str) -> str:
    """Text of a page without what is for groff alone."""
    return text.replace("\\%", "").replace("\\-", "-").replace("\\(dq", '"').replace("\\(aq", "'")


def section(page: str, name: str, macro: str = "Sh") -> str:
    return page.partition(f"\n.{macro} {name}\n")[2].partition(f"\n.{macro} ")[0].partition(
        "\n.Sh ")[0]


def tags(text: str, macro: str) -> list[str]:
    return [name.strip('"') for name in re.findall(rf"^\.It {macro} (.*)$", text, re.MULTILINE)]


def test_every_command_has_a_section_with_the_options_of_its_help(
    uncork: Uncork, pages: Path,
) -> None:
    page = plain((pages / "man1/uncork.1").read_text())
    commands = section(page, "COMMANDS")
    assert re.findall(r"^\.Ss uncork (\S+)$", commands, re.MULTILINE) == list(COMMANDS)
    for name in COMMANDS:
        text = section(commands, f"uncork {name}", "Ss")
        typed = uncork_call((name, "--help"), uncork.environment).stdout
        helped = set(re.findall(r"(?<![\w-])(--[a-z0-9-]+)", typed.partition("\n\n")[0]))
        said = {f"-{option}" for line in re.findall(r"^\.It Fl (.*)$", text, re.MULTILINE)
                for option in re.findall(r"(-[a-z0-9-]+)", line) if option.startswith("-")
                if len(option) > 2}
        short = {"--help", "--output", "--dry-run"}  # the usage has their short forms
        assert helped - short == said - short, name
        told = tags(text, "Cm")
        assert [tag.split()[0] for tag in told] == list(COMMANDS[name].parts)
    assert "time_per_message > +3%)" in commands and "%%" not in commands


def test_the_page_has_every_metric_every_word_of_a_run_and_every_variable(
    binaries: Client, pages: Path,
) -> None:
    page = plain((pages / "man1/uncork.1").read_text())
    assert tags(section(page, "METRICS"), "Cm") == list(METRICS)
    assert tags(section(page, "WORDS OF A RUN"), "Cm") == list(client_list(binaries).run_words)
    assert "not" in tags(section(page, "WORDS OF A RUN"), "Cm")
    assert tags(section(page, "ENVIRONMENT"), "Ev") == list(ENVIRONMENT)


def test_the_variables_of_the_page_are_those_that_programs_read() -> None:
    suite, setup = ("\n".join(path.read_text() for path in (ROOT / folder).rglob("*")
                              if path.is_file() and path.suffix != ".pyc")
                    for folder in ("scripts/suite", "scripts/setup"))
    read = {*re.findall(r"\bUNCORK_[A-Z]+\b", suite), *re.findall(r"\$\{(UNCORK_[A-Z]+):-", setup)}
    assert read - PRIVATE == set(ENVIRONMENT)


def test_the_page_of_scenarios_has_every_key_that_the_reader_knows(pages: Path) -> None:
    page = plain((pages / "man5/uncork-scenario.5").read_text())
    keys = section(page, "KEYS")
    for part in set(PARTS) - {TOP}:
        assert tags(section(keys, part, "Ss"), "Cm") == list(keys_of(PARTS[part])), part
    parts = re.findall(r"^\.Ss (\S+)$", keys, re.MULTILINE)
    first = [key.name for key in part_keys(TOP)]
    assert {*parts, *first} == set(keys_of(Scenario))
    assert tags(keys.partition("\n.Ss ")[0], "Cm") == first


def test_a_key_without_a_default_is_one_that_the_reader_requires() -> None:
    for part in set(PARTS) - {TOP}:
        required = [key.name for key in part_keys(part) if key.default is None]
        if not required:
            assert entry_read({}, PARTS[part]) == {}
            continue
        with pytest.raises(UsageError, match=f"^{required[0]} is missing$"):
            entry_read({}, PARTS[part])


def test_the_example_of_the_page_is_a_scenario_and_its_expressions_are_claims(
    pages: Path, tmp_path: Path,
) -> None:
    page = plain((pages / "man5/uncork-scenario.5").read_text())
    (tmp_path / "example.toml").write_text(
        section(page, "EXAMPLES").partition(".Bd -literal\n")[2].partition(".Ed")[0])
    scenario = scenario_load(tmp_path / "example.toml")
    assert scenario.claims and scenario.answers and scenario.table.rows and scenario.pictures
    claims = re.findall(r"^\.Dl (.*)$", section(page, "EXPRESSIONS"), re.MULTILINE)
    assert [claim_parse(claim).sign for claim in claims] == ["~", ">=", ">="]
    assert " ".join(COMPARISONS) in section(page, "EXPRESSIONS")


@pytest.mark.skipif(shutil.which("groff") is None or shutil.which("man") is None,
                    reason="groff or man is not installed")
@pytest.mark.parametrize("page", ["man1/uncork.1", "man1/uncork-client.1", "man1/uncork-server.1",
                                  "man5/uncork-scenario.5"])
def test_a_page_has_no_warning_and_fits_80_columns(pages: Path, page: str) -> None:
    done = subprocess.run(["groff", "-mdoc", "-Tutf8", "-ww", "-z", str(pages / page)],
                          capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    shown = subprocess.run(["man", "--warnings", "-l", str(pages / page)], capture_output=True,
                           text=True, env=os.environ | {"MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
    assert (shown.returncode, shown.stderr) == (0, "") and "SEE ALSO" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
