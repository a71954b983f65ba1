# SPDX-License-Identifier: MIT
"""What the answers of a scenario are made from: metrics, words and axes that its claims and
pictures name. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from suite.analyse.expressions import Reference, claim_parse, references_of
from suite.scenario.scenario import Scenario


def claims_references(scenario: Scenario) -> Iterator[Reference]:
    """Every metric that a claim names, with its words."""
    for claim in scenario.claims:
        comparison = claim_parse(claim.that)
        for side in (comparison.left, comparison.right):
            yield from references_of(side)


def selectors_of(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """(words, where they stand) of claims and published figures."""
    for figure in scenario.published:
        yield figure.words, f'[published] words "{figure.words}": '
    for reference in claims_references(scenario):
        yield reference.selector, f'[claim] that "{reference.text}": '


def axes_of(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """(axis, where it stands) of the table, pictures and claims."""
    for row in scenario.table.rows if scenario.table else ():
        yield row, "[table] rows"
    if scenario.table and scenario.table.best:
        yield scenario.table.best, "[table] best"
    for picture in scenario.pictures:
        if picture.x:
            yield picture.x, "[picture] x"
    for reference in claims_references(scenario):
        for key in reference.searched:
            yield key, f'[claim] that "{reference.text}"'
