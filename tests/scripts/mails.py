# SPDX-License-Identifier: MIT
"""What the tests of mail blocks share: blocks of a result, commands, and forged comparisons."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from answers import NO_CONTRAST
from suite import stats
from suite.base.words import arguments_sort, words_text
from suite.commands import parser_make
from suite.commands.compare import uncork_verify
from suite.contrast.contrast import Contrast, Status, Unit, Verdict
from suite.contrast.verdicts import Family, Judged
from suite.decide.comparison.model import Change, Comparison, Difference, Mean, Row, Side
from suite.decide.summary import Figure
from suite.observe.metrics import METRICS
from suite.present.mail.block import blocks_build
from suite.present.tables.mail import block_lines


def command_run(function, capsys, *arguments):
    """(exit status, standard output) of a command, in this process."""
    parser = parser_make(function.__name__.removeprefix("uncork_"))
    status = function(parser.parse_args([str(argument) for argument in arguments]))
    return status or 0, capsys.readouterr().out


def verified(capsys, folder, text, *results):
    """command_run() of `uncork verify` on a mail of this text, or of these bytes."""
    (folder / "mail").write_bytes(text if isinstance(text, bytes) else text.encode())
    return command_run(uncork_verify, capsys, folder / "mail", *results)


def pasted(matrix, *words, style="plain", utf8=False):
    """The blocks of a result, as lines."""
    asked = arguments_sort(matrix.result.folder, words, ("columns",))
    blocks = blocks_build([matrix], asked.selectors, asked.own.get("columns"))
    return [block_lines(block, style, utf8) for block in blocks]


def figure_random(chance, whole):
    """A figure that nobody measured."""
    median = 10 ** chance.uniform(-9, 9)
    if whole and chance.random() < 0.5:
        return Figure(float(chance.randint(0, 40)), stats.Interval(1, 1, 0.97), 10, True)
    width = median * 10 ** chance.uniform(-4, 0)
    level = chance.choice([0.97, None])
    interval = chance.choice([None, stats.Interval(median - width, median + width, level)])
    return Figure(median, interval, chance.randint(1, 40), False)


def estimate_random(chance):
    """A ratio around 1, or far from it."""
    value = chance.choice([1 + chance.gauss(0, 0.01), 10 ** chance.uniform(-4, 4)])
    low, high = value * (1 - chance.random() / 9), value * (1 + chance.random() / 9)
    return stats.Estimate(value, chance.choice([None, stats.Interval(low, high, 0.96)]),
                          chance.randint(1, 40))


@dataclass(frozen=True)
class Forged:
    """A suite.contrast.verdicts.Judged that nothing was computed for."""

    estimate: stats.Estimate | None
    verdict: Verdict
    contrast: Contrast = NO_CONTRAST
    family: Family = field(default_factory=lambda: Family({}))
    direction = Judged.direction
    detectable: float | None = None


def change_random(chance, metric):
    """A change with a verdict that goes with it."""
    base, new = figure_random(chance, metric.whole), figure_random(chance, metric.whole)
    ratio = chance.choice([None, *[estimate_random(chance)] * 5])
    same = chance.choice([None, 1 + chance.random()])
    if base.exact and new.exact:
        return Change(base, new, Forged(ratio, Verdict.EXACT, replace(NO_CONTRAST, exact=True)))
    if ratio is None:
        status = chance.choice([Status.ABSENT, Status.ZERO, Status.TIMING])
        return Change(base, new, Forged(None, Verdict.WITHHELD, replace(NO_CONTRAST,
                                                                         status=status)))
    verdict = (Verdict.UNKNOWN if ratio.interval is None else
               Verdict.UNDECIDED if ratio.interval.contains(1.0) else Verdict.CHANGED)
    return Change(base, new, Forged(ratio, verdict, replace(NO_CONTRAST, status=Status.OK)),
                  same=same)


def mean_random(chance, rows):
    """A geometric mean of some of so many rows."""
    left_out = {place: chance.choice(["no ratio", "exact counts", "n=3"]) for place in range(rows)
                if chance.random() < 0.2}
    return Mean(estimate_random(chance), rows - len(left_out), left_out)


ODD = ("[::1]:7", "127.0.0.1:80", "unix:/run/x", "ssh:h1/fd00::1+ssh:h2", "a|b", "n=5", "~", "-",
       "*x*", "95%", "geomean", "1.5%", "[x]", "[+1%]", "/srv/" + "b" * 70, "/" + "deep/" * 50)


def value_random(chance, axis):
    """A value of an axis: a size, a strategy, or one that looks like something else."""
    if chance.random() < 0.3:
        return chance.choice(ODD)
    if axis == "message":
        return chance.choice(["64", "4K", "1M", "default", "32/2x4K/2x4K/2x4K/2x4K", "16+4K"])
    return "a" + "".join(chance.choice("abcdefghij-") for _ in range(chance.randint(1, 14))) + "z"


def comparison_random(matrix, seed):
    """A comparison that nobody made: any axes, any figures, any marks."""
    chance = random.Random(f"mail {seed}")
    axes = tuple(chance.sample(["message", "place", "reply_write", "transport", "security"],
                               chance.randint(0, 4)))
    metrics = tuple(METRICS[name] for name in chance.sample(list(METRICS), chance.randint(1, 3)))
    places = dict.fromkeys(tuple(value_random(chance, axis) for axis in axes)
                           for _ in range(chance.randint(1, 12) if axes else 1))
    rows = tuple(Row(dict(zip(axes, place, strict=True)), None, None, {
        metric.name: change_random(chance, metric) for metric in metrics if chance.random() < 0.9
        or not number})
        for number, place in enumerate(places))
    more = {"build": ODD[-1 - seed % 2]} if seed % 5 == 0 else {"depth": "4"} if seed % 2 else {}
    sides = [Side(words_text({"write": name} | more), matrix, {"write": name} | more)
             for name in ("nodelay", "cork")]
    differences = tuple(Difference(chance.choice(["kernel", "sysctl"]), f"net.ipv4.tcp_{number}",
                                   "4096\t131072",
                                   "x" * chance.randint(0, 60))
                        for number in range(chance.randint(0, 4)))
    return Comparison(
        sides[0], sides[1], axes, metrics, rows, tuple(Unit)[seed % 3],
        {metric.name: mean for metric in metrics
         if (mean := chance.choice([None, mean_random(chance, len(rows))]))},
        differences,
        tuple(f"note {number} " * 9 for number in range(chance.randint(0, 3))))
