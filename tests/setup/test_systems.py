# SPDX-License-Identifier: MIT
"""What differs between systems: where it stands, and the step that compiles for the others."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from sandbox import TOP, Sandbox

# An #if that names a system, or an option or flag that not every system has.
CONDITION = re.compile(
    r"^\s*#\s*(?:el)?if.*\b(?:"
    r"__linux__|__gnu_linux__|__APPLE__|__MACH__|__(?:Free|Open|Net)BSD__|__unix__|BSD|TARGET_OS_\w+"
    r"|(?:TCP|MSG|SO|SOCK|RUSAGE|CLOCK|CPU|RLIMIT)_\w+|[SF]IO[A-Z]+)\b",
    re.MULTILINE,
)


def table_files() -> set[str]:
    """The files that the table in docs/design/systems.md names."""
    page = (TOP / "docs/design/systems.md").read_text()
    section = page.split("\n## Other systems\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return {name for row in rows
            for name in re.findall(r"`((?:client|common|server)/[^`]+)`", row.split("|")[2])}


def condition_files() -> set[str]:
    """The files of the programs that have such an #if."""
    files = [path for folder in ("client", "common", "server")
             for path in (TOP / folder).rglob("*.[ch]")]
    return {str(path.relative_to(TOP)) for path in files if CONDITION.search(path.read_text())}


def test_ifs_on_systems_stand_only_in_the_files_of_the_table() -> None:
    assert condition_files() - table_files() == set()


def test_each_file_of_the_table_has_such_an_if() -> None:
    assert table_files() - condition_files() == set()


def test_every_part_of_a_build_that_may_be_absent_has_its_files_and_its_row() -> None:
    files = [path for folder in ("client", "common", "server")
             for path in (TOP / folder).rglob("absent_*.c")]
    needs = re.findall(r"^uncork_needs\((\w+)", (TOP / "CMakeLists.txt").read_text(), re.MULTILINE)
    page = (TOP / "docs/design/systems.md").read_text().split("\n## Parts of the build\n")[1]
    rows = re.findall(r"^\| `(\w+)` \|", page.split("\n## ")[0], re.MULTILINE)
    assert {path.stem.removeprefix("absent_") for path in files} == set(needs) == set(rows)


def test_no_file_asks_what_the_build_has() -> None:
    for folder in ("client", "common", "exec", "server"):
        for path in (TOP / folder).rglob("*.[ch]"):
            assert "UNCORK_HAS" not in path.read_text(), path


@pytest.mark.parametrize("line", [
    "#ifdef __linux__", "#if defined __FreeBSD__", "  # if !defined(__APPLE__)", "#ifndef MSG_MORE",
    "#elif defined SIOCOUTQ", "#if defined(A) || defined TCP_NOPUSH", "#ifdef RUSAGE_THREAD",
    "#ifndef RLIMIT_AS",
])
def test_an_if_on_a_system_is_seen(line: str) -> None:
    assert CONDITION.search(f"int before;\n{line}\nint after;\n")


@pytest.mark.parametrize("line", [
    "#ifndef UNCORK_TRANSPORT_CORK_H", "#if UNCORK_TLS", "#include <linux/tcp.h>", "#endif",
    "/* #ifdef would be wrong */", "    if (flags & MSG_MORE)",
])
def test_another_line_is_not_taken_for_one(line: str) -> None:
    assert not CONDITION.search(f"int before;\n{line}\nint after;\n")


@pytest.mark.parametrize("index, why", [
    ({"PIP_NO_INDEX": "1"}, "PyPI: Could not find a version that satisfies the "
     "requirement ziglang==0.17.0 (from versions: none); log: "),
    ({"PIP_INDEX_URL": "http://127.0.0.1:1"}, "PyPI: Failed to establish a new connection: "
     "[Errno 111] Connection refused; log: "),
])
def test_without_its_compiler_the_step_is_skipped_with_the_reason(
    sandbox: Sandbox, tmp_path: Path, index: dict[str, str], why: str
) -> None:
    shutil.copytree(TOP / "tests/portability", sandbox.tree / "tests/portability")
    done = sandbox.run("scripts/test", "systems", PIP_CONFIG_FILE="/dev/null",
                       PIP_FIND_LINKS=str(tmp_path), **index)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "0 passed, 0 failed, 2 skipped"
    assert lines[-2].startswith(f"  systems: ziglang 0.17.0 could not be fetched from {why}")
    assert not list((sandbox.tree / "build/pypi").glob("*"))
