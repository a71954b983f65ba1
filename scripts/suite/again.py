# SPDX-License-Identifier: MIT
"""The command that measures a result again, told by the scenarios that ship."""

from __future__ import annotations

from suite.client import scenario_names, scenario_path
from suite.frame import Matrix
from suite.mail.command import command_words
from suite.scenario import scenario_load


def command_of(matrix: Matrix) -> list[str]:
    """The words that measure a result again."""
    scenario = matrix.result.scenario
    ships = scenario.name in scenario_names()
    shipped = scenario_load(scenario_path(scenario.name)) if ships else None
    return command_words(scenario, matrix.result.plan, shipped)
