# SPDX-License-Identifier: MIT
"""What two sides may differ in before their ratio says something else than what was asked. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from suite.analyse.comparison.model import Comparison, Difference, difference_text
from suite.analyse.machines import FUNCTIONAL_ONLY
from suite.base.errors import UsageError, nearest_hint

SHOWN = 3  # differences that a line names


def undeclared(comparison: Comparison) -> tuple[Difference, ...]:
    """What differs and is not what the comparison is about."""
    return tuple(one for one in comparison.differences if not one.declared)


def forced(comparison: Comparison) -> tuple[Difference, ...]:
    """Those across which ratios of time say nothing."""
    return tuple(one for one in undeclared(comparison) if one.refuses)


def differences_line(differences: Collection[Difference]) -> str:
    """The first of them, and how many more."""
    texts = [difference_text(one) for one in differences]
    more = [f"and {len(texts) - SHOWN} more"] if len(texts) > SHOWN else []
    return "; ".join([*texts[:SHOWN], *more])


def declared_check(comparison: Comparison, declared: Collection[str]) -> None:
    """UsageError for a declared axis in which the two results do not differ: they answer another
    question."""
    known = {name for one in comparison.differences
             for name in (one.kind, one.name, one.name.rsplit(".", 1)[-1])}
    for name in declared:
        if name not in known:
            raise UsageError(
                f"axis={name}: the two results do not differ in it{nearest_hint(name, known)}")


def axis_hint(comparison: Comparison, declared: Collection[str],
              others: Collection[Difference]) -> str:
    """` (axis=kernel,sysctl declares it)`; empty within a result, where words do."""
    axes = ",".join(dict.fromkeys([*declared, *(one.kind for one in others)]))
    return "" if comparison.within else f" (axis={axes} declares it)"


def times_check(comparison: Comparison, where: str) -> None:
    """UsageError where the times of a cell say nothing, for what shows times only; where: what
    does."""
    for row in comparison.rows:
        for side, cell in ((comparison.base, row.base), (comparison.new, row.new)):
            if cell is not None and cell.emulated:
                raise UsageError(
                    f"{where}: {FUNCTIONAL_ONLY}: {cell.name or side.matrix.result.folder}: "
                                 f"{cell.emulated}: its times say nothing")


def refusals_check(comparison: Comparison, declared: Collection[str], strict: bool,
                   force: bool) -> Comparison:
    """The comparison, with a note where it was forced.

    UsageError where a ratio says nothing (unless force), or where anything but the declared axis
    differs (strict).
    """
    declared_check(comparison, declared)
    others, refusing = undeclared(comparison), forced(comparison)
    if strict and others:
        raise UsageError(
            f"--strict: the sides differ in more than what is compared: {differences_line(others)}"
                         f"{axis_hint(comparison, declared, others)}")
    if not refusing:
        return comparison
    told = differences_line(refusing)
    if not force:
        raise UsageError(f"{told}: a ratio across that says nothing of what else differs"
                         f"{axis_hint(comparison, declared, refusing)}; --force compares all the same")
    return replace(comparison,
                   notes=(f"forced across {told}: no ratio here says what it comes from",
                                      *comparison.notes))
