# SPDX-License-Identifier: MIT
"""The folder tree is the architecture: imports of scripts/suite point the way that docs/architecture.md draws."""

from __future__ import annotations

import ast
import graphlib
import re
from pathlib import Path

import pytest

from conftest import ROOT

SUITE = ROOT / "scripts" / "suite"
APART = ("comparison.formats",)  # folders within a folder that are a layer of their own
NO_LAYER = ("suite", "__main__")


def module_name(path: Path) -> str:
    """The name of a file as it is imported."""
    return ".".join(path.relative_to(SUITE.parent).with_suffix("").parts).removesuffix(".__init__")


def imports_of(path: Path, known: set[str]) -> set[str]:
    """The modules of the suite that a file imports, those for type checkers only included."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    names = [(node.module or "", f"{node.module}.{alias.name}") for node in nodes for alias in node.names]
    return {whole if whole in known else module for module, whole in names if module.partition(".")[0] == "suite"}


def layer_of(module: str) -> str:
    """What a module is called in the drawing."""
    inside = module.removeprefix("suite.")
    return next((name for name in APART if inside.startswith(name)), inside.partition(".")[0])


def chains_read() -> list[list[list[str]]]:
    """The chains of the drawing: steps from left to right, each with its layers."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    found = re.search(r"`scripts/suite` is layered.*?```\n(.*?)```", text, re.DOTALL)
    assert found, "docs/architecture.md has no drawing of the layers"
    lines = re.sub(r"\n\s+", " ", re.sub(r" \([^)]*\)", "", found[1])).splitlines()
    return [[step.split(", ") for step in map(str.strip, line.split("◀─"))] for line in lines]


@pytest.fixture(scope="module")
def modules() -> dict[str, set[str]]:
    """Every module with what it imports."""
    paths = {module_name(path): path for path in SUITE.rglob("*.py")}
    return {name: imports_of(path, set(paths)) for name, path in paths.items()}


def test_no_two_modules_import_each_other(modules):
    assert list(graphlib.TopologicalSorter(modules).static_order())


def test_every_part_of_the_suite_is_in_the_drawing(modules):
    drawn = {name for chain in chains_read() for step in chain for name in step}
    assert drawn == {layer_of(name) for name in modules} - set(NO_LAYER)


def test_imports_point_the_way_that_is_drawn(modules):
    for chain in chains_read():
        place = {name: number for number, step in enumerate(chain) for name in step}
        wrong = [f"{name} imports {other}" for name, others in modules.items() for other in others
                 if {layer_of(name), layer_of(other)} <= place.keys() and layer_of(name) != layer_of(other)
                 and place[layer_of(other)] >= place[layer_of(name)]]
        assert not wrong
