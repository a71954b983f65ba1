# SPDX-License-Identifier: MIT
"""Results of simulated runs: records as columns, so that thousands of comparisons take seconds.

One result holds many independent groups of cells. Within a group the cells differ in `write` only,
the first value is the baseline, and it runs twice in every round, as the runner does it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import answers  # noqa: F401
from suite.observe.frame import Matrix, matrix_build
from suite.observe.metrics import METRICS
from suite.observe.results import Result
from suite.observe.runs import NUMBERS, TEXTS, Runs
from suite.observe.traits import Traits
from suite.result.plan import Plan, PlannedCell
from suite.scenario.scenario import LABEL, LABEL_REPEAT, Scenario

METRIC = "time_per_message"
BASE = "w0"
SETTLED = 30  # values after which a process has forgotten how it began
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def normal(chance: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """A little symmetric noise, 2 %."""
    return np.exp(chance.normal(0, 0.02, shape))


def lognormal(chance: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Much noise, skewed."""
    return np.exp(chance.normal(0, 0.4, shape))


def exponential(chance: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """The most skewed: values near 0 and many times the median."""
    return chance.exponential(1, shape)


def two_modes(chance: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Two states of a machine, one of which is twice as slow and less frequent."""
    return np.exp(chance.normal(0, 0.02, shape)) * chance.choice((1, 1, 2), shape)


def heavy_tailed(chance: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Mostly quiet, with outliers of any size (logarithms by Student's t with 2 degrees of
    freedom)."""
    return np.exp(0.02 * chance.standard_t(2, shape))


def uniform(chance: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Bounded noise without a centre."""
    return chance.uniform(0.8, 1.2, shape)


def drifting(chance: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Noise on a machine that gets slower by 10 % from the first round to the last, for all cells
    alike."""
    return normal(chance, shape) * np.linspace(1, 1.1, shape[-1])


def regimes(chance: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Two states of a machine, of which one is ten times as slow and less frequent."""
    return np.exp(chance.normal(0, 0.02, shape)) * chance.choice((1, 1, 1, 10), shape)


def correlated(correlation: float) -> Draw:
    """Noise of 3 % in which neighbouring rounds have this correlation (autoregressive)."""
    def draw(chance: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        fresh = chance.normal(0, 0.03, (*shape[:-1], shape[-1] + SETTLED))
        for place in range(1, fresh.shape[-1]):
            fresh[..., place] += correlation * fresh[..., place - 1]
        return np.exp(fresh[..., SETTLED:])

    draw.__name__ = f"correlated_{correlation}"
    return draw


NOISES: tuple[Draw, ...] = (normal, lognormal, exponential, two_modes, heavy_tailed, uniform,
                            drifting)


def cell_name(group: int, place: int) -> str:
    """The name of a cell, which sorts as its numbers do."""
    return f"group={group:05} write=w{place}"


def runs_simulated(first: np.ndarray, again: np.ndarray) -> Runs:
    """The columns of records. first: values of the runs A, (groups, cells, rounds); again: those of
    the runs A' of each group's first cell, (groups, rounds). A run whose value is NaN has
    failed."""
    groups, cells, rounds = first.shape
    number = groups * cells
    values = np.concatenate([first.reshape(number, rounds), again]).ravel()
    cell = np.concatenate([np.arange(number), np.arange(0, number, cells)]).repeat(rounds)
    failed = np.isnan(values)
    names = np.array([cell_name(group, place) for group in range(groups) for place in range(cells)],
                     dtype=object)
    columns = {
        **dict.fromkeys(TEXTS, ""), **dict.fromkeys(NUMBERS, 0), **dict.fromkeys(METRICS, np.nan),
        "censored": [frozenset()] * len(values), METRIC: values, "cell": names[cell],
        "status": np.where(failed, "failed", "ok").astype(object),
        "label": np.repeat([LABEL, LABEL_REPEAT], [first.size, again.size]).astype(object),
        "round": np.tile(np.arange(1, rounds + 1), number + groups)}
    return Runs(pd.DataFrame(columns), (Traits(),))


def matrix_simulated(first: np.ndarray, again: np.ndarray, sessions: int = 1) -> Matrix:
    """The frames of such runs, by the functions that make them of records. sessions: in how many
    sessions the rounds ran."""
    groups, cells, rounds = first.shape
    planned = tuple(PlannedCell(cell_name(group, place),
                                {"group": f"{group:05}", "write": f"w{place}"}, {}, place == 0)
                    for group in range(groups) for place in range(cells))
    plan = Plan("simulated", ("group", "write"), planned, rounds=rounds // sessions, seed=1,
                baseline=f"write={BASE}")
    for _ in range(sessions):
        plan = plan.with_session({"": "simulated"})
    result = Result(Path("simulated"), Scenario("simulated"), plan, {},
                    runs_simulated(first, again), ())
    return matrix_build(result)


def matrix_identical(noise: Draw, groups: int, cells: int, rounds: int, seed: int,
                     factor: float = 1.0) -> Matrix:
    """Groups of cells of which none differs from another, with messages of about 10 us; or the
    second of each takes so many times as long."""
    chance = np.random.default_rng((seed, groups, cells, rounds))
    first, again = 1e-5 * noise(chance, (groups, cells, rounds)), noise(chance, (groups, rounds))
    first[:, 1] *= factor
    return matrix_simulated(first, 1e-5 * again)


def matrix_sessions(cells: int, sessions: int, rounds: int, between: float, within: float,
                    seed: int) -> Matrix:
    """Cells of which none differs from another in the long run: in each session each cell differs
    by a factor of its own. between, within: standard deviations of logarithms."""
    chance = np.random.default_rng((seed, cells, sessions, rounds))
    factors = chance.normal(0, between, (1, cells, sessions)).repeat(rounds, axis=-1)
    noise = chance.normal(0, within, (1, cells, sessions * rounds))
    again = factors[:, 0] + chance.normal(0, within, (1, sessions * rounds))
    return matrix_simulated(1e-5 * np.exp(factors + noise), 1e-5 * np.exp(again), sessions)
