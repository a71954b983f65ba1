# SPDX-License-Identifier: MIT
"""The folder tree is the architecture: rooms of scripts/suite import, and folders of common/
include, what docs/architecture.md draws."""

from __future__ import annotations

import ast
import graphlib
import importlib
import re
from pathlib import Path

import pytest

from conftest import ROOT

SUITE = ROOT / "scripts" / "suite"
COMMON = ROOT / "common"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
LAUNCHER = "__main__"  # the file that picks a command


def module_name(path: Path) -> str:
    """The name of a file as it is imported."""
    return ".".join(path.relative_to(SUITE.parent).with_suffix("").parts).removesuffix(".__init__")


def imports_of(path: Path, known: set[str]) -> set[str]:
    """The modules of the suite that a file imports, those for type checkers only included."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text()))
             if isinstance(node, ast.ImportFrom)]
    names = [(node.module or "", f"{node.module}.{alias.name}") for node in nodes
             for alias in node.names]
    return {whole if whole in known else module
            for module, whole in names if module.partition(".")[0] == "suite"}


def room_of(module: str) -> str:
    """The room that a module is in."""
    return module.removeprefix("suite.").partition(".")[0]


def rooms_drawn(opening: str = "`scripts/suite` has twelve rooms") -> dict[str, set[str]]:
    """The drawing after this text: each room with those that it imports or includes."""
    found = re.search(rf"{re.escape(opening)}.*?```\n(.*?)```", PAGE, re.DOTALL)
    assert found, f"docs/architecture.md has no drawing after: {opening}"
    lines = [line.partition("─▶") for line in re.sub(r",\n +", ", ", found[1]).splitlines()]
    return {room.strip(): set(filter(None, map(str.strip, others.split(","))))
            for room, _, others in lines}


def folders_drawn() -> dict[str, set[str]]:
    """The drawing of common/: each folder with those of which it includes headers."""
    return rooms_drawn("### The folders of common\n")


def headers_of(path: Path) -> set[str]:
    """The headers and lists of common/ that a file includes."""
    return set(re.findall(r'^#include "(\w+/\w+\.(?:h|def))"', path.read_text(), re.MULTILINE))


def differences(found: dict[str, set[str]], drawn: dict[str, set[str]], verb: str) -> list[str]:
    """What the drawing lacks, and what it has and no file does."""
    edges = {(room, other) for room, others in found.items() for other in others}
    arrows = {(room, other) for room, others in drawn.items() for other in others}
    return [*(f"{room} {verb} {other}; the drawing lacks it" for room, other in edges - arrows),
            *(f"{room} ─▶ {other} is drawn; no file {verb} it" for room, other in arrows - edges),
            *(f"{room} is not drawn" for room in set(found) - set(drawn)),
            *(f"{room} is drawn; there is no such folder" for room in set(drawn) - set(found))]


@pytest.fixture(scope="module")
def modules() -> dict[str, set[str]]:
    """Every module with what it imports."""
    paths = {module_name(path): path for path in SUITE.rglob("*.py")}
    return {name: imports_of(path, set(paths)) for name, path in paths.items()}


def test_no_two_modules_import_each_other(modules):
    assert list(graphlib.TopologicalSorter(modules).static_order())


def test_rooms_import_exactly_what_is_drawn(modules):
    found: dict[str, set[str]] = {}
    for name, others in modules.items():
        room = room_of(name)
        if room not in (LAUNCHER, "suite"):
            found.setdefault(room, set()).update(map(room_of, others))
    imported = {room: others - {room} for room, others in found.items()}
    assert not differences(imported, rooms_drawn(), "imports")


def test_folders_of_common_include_exactly_what_is_drawn():
    found = {folder.name: {header.partition("/")[0] for path in folder.glob("*.[ch]")
                           for header in headers_of(path)} - {folder.name}
             for folder in COMMON.iterdir()}
    assert not differences(found, folders_drawn(), "includes")


def test_no_two_headers_of_common_include_each_other():
    headers = {str(path.relative_to(COMMON)): headers_of(path) for path in COMMON.glob("*/*.h")}
    assert list(graphlib.TopologicalSorter(headers).static_order())


@pytest.mark.parametrize("program", ["client", "server"])
def test_no_two_files_of_a_program_include_each_other(program):
    files: dict[str, set[str]] = {}
    for path in (ROOT / program).glob("*.[ch]"):
        others = re.findall(r'^#include "(\w+)\.h"', path.read_text(), re.MULTILINE)
        files.setdefault(path.stem, set()).update({*others} - {path.stem})
    assert list(graphlib.TopologicalSorter(files).static_order())


@pytest.mark.parametrize("drawn", [rooms_drawn, folders_drawn])
def test_arrows_between_rooms_go_one_way(drawn):
    assert list(graphlib.TopologicalSorter(drawn()).static_order())


def test_nobody_imports_a_command_and_commands_do_not_import_each_other(modules):
    wrong = [f"{name} imports {other}" for name, others in modules.items() for other in others
             if other.startswith("suite.commands.")]
    assert not wrong


def test_nothing_outside_imports_the_fleet(modules):
    wrong = [f"{name} imports {other}" for name, others in modules.items() for other in others
             if other.startswith("suite.places.fleet")
             and not name.startswith("suite.places.fleet")]
    assert not wrong


def test_every_room_says_what_is_in_it_and_what_it_never_does():
    for room in rooms_drawn():
        text = ast.get_docstring(ast.parse((SUITE / room / "__init__.py").read_text())) or ""
        assert "import" in text and "never" in text.lower() or room == "commands", room


def test_the_path_of_a_figure_names_functions_that_exist_each_in_the_room_that_is_next():
    found = re.search(r"### The path of a figure\n.*?\n\n(\|.*?)\n\n", PAGE, re.DOTALL)
    assert found, "docs/architecture.md does not follow a figure"
    steps = re.findall(r"^\| `([\w.]+)\.(\w+)(?:\.(\w+))?`", found[1], re.MULTILINE)
    assert len(steps) >= 8
    for module, name, member in steps:
        thing = getattr(importlib.import_module(f"suite.{module}"), name)
        assert not member or hasattr(thing, member)
    order = list(dict.fromkeys(room_of(f"suite.{module}") for module, _, _ in steps))
    assert order == ["result", "observe", "contrast", "decide", "present", "commands"]
    places = [order.index(room_of(f"suite.{module}")) for module, _, _ in steps]
    assert places == sorted(places)


@pytest.mark.parametrize("top", ["common", "tests"])
def test_the_page_lists_every_folder(top):
    found = re.search(rf"^\| folder of `{top}/` .*\n\| --- .*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    assert found, f"docs/architecture.md has no table of the folders of {top}/"
    listed = [name for row in found[1].splitlines()
              for name in re.findall(r"`(\w+)/`", row.split("|")[1])]
    assert sorted(listed) == sorted(path.name for path in (ROOT / top).iterdir()
                                    if path.is_dir() and not path.name.startswith(("_", ".")))
