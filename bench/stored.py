# SPDX-License-Identifier: MIT
"""A run as it is kept in a file, one JSON object a line, and as it is printed."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from bench.contests import CONTESTS, Contest
from bench.result import rows_lines, rows_make, rows_markdown
from bench.rounds import Sample
from suite.base.errors import UsageError
from suite.base.text import labelled_lines

SCHEMA = 2
WIDTH = 100
LEGEND = (
    ("ratio", "uncork by the other, paired round by round (Hodges-Lehmann), with its 95 % interval "
              "(signed ranks); of a figure without a ratio: the median and its interval"),
    ("A/A", "the floor runs twice in every round: the interval of floor / floor"),
    ("budget", "reached or not reached where the whole interval lies on one side; 0.975 (0.97): "
               "the ratio is at least 0.975, and its interval above 0.97"),
)


@dataclass(frozen=True)
class Run:
    """What one run gave. head: what must be known before a figure is read. absent: why contenders
    did not run."""

    head: dict[str, str]
    contests: Mapping[str, Contest]
    absent: Mapping[str, str]
    samples: Sequence[Sample] = ()
    foot: dict[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The first line of the file."""
        return {"bench": SCHEMA, "head": self.head, "contests": [*self.contests],
                "absent": self.absent}


def line_keep(file: TextIO | None, document: Mapping[str, Any]) -> None:
    """One line, there whatever comes next."""
    if file is not None:
        print(json.dumps(document), file=file, flush=True)


def run_read(path: Path, chosen: Mapping[str, Contest]) -> Run:
    """The run that a file has, packed by xz or not; of its contests those that are chosen.

    A run that was ended early has no foot, and perhaps a part of a last line, which is left out.
    """
    try:
        with (lzma.open if path.suffix == ".xz" else open)(path, "rt") as file:
            first, *lines = [json.loads(line) for line in file if line.endswith("\n")]
        if first.pop("bench") != SCHEMA:
            raise UsageError(f"{path}: another version of the bench wrote it")
        if strange := [name for name in first["contests"] if name not in CONTESTS]:
            raise UsageError(f"{path}: there is no contest {strange[0]} any longer")
        if chosen.keys() != CONTESTS.keys() and (
                absent := [name for name in chosen if name not in first["contests"]]):
            raise UsageError(f"{path}: it has no contest {absent[0]}")
        samples = [Sample(**{"figures": {}} | line) for line in lines if "round" in line]
        foot: dict[str, str] = next((line for line in lines if "round" not in line), {})
        return Run(first["head"], {name: CONTESTS[name] for name in CONTESTS
                                   if name in first["contests"] and name in chosen},
                   first["absent"], samples, foot)
    except (OSError, lzma.LZMAError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{path}: cannot be read: {why}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{path}: bench/run --json wrote no such file") from None


def head_lines(head: Mapping[str, str]) -> list[str]:
    return labelled_lines([*head.items()], WIDTH)


def table_lines(run: Run) -> list[str]:
    """The table of a run with its legend, for a terminal."""
    rows = rows_make(run.contests, run.samples, run.absent)
    return [*rows_lines(rows), "", *labelled_lines(LEGEND, WIDTH)]


def page_lines(run: Run) -> list[str]:
    """The whole run in Markdown."""
    rows = rows_make(run.contests, run.samples, run.absent)
    return rows_markdown(rows, [*(run.head | run.foot).items()], LEGEND)
