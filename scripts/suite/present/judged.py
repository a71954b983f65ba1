# SPDX-License-Identifier: MIT
"""Verdicts as signs and short texts, the same in tables, blocks and pictures. Pure."""

from suite.base.units import ratio_text, value_text
from suite.contrast.contrast import STATUS_WHY, Status, Verdict
from suite.contrast.verdicts import Judged
from suite.observe.metrics import Metric

# In place of a change, by the status that withholds it; STATUS_WHY has what it means.
WITHHELD_SIGNS = {
    Status.ABSENT: "-", Status.ZERO: "zero", Status.TIMING: "timing",
    Status.DISTURBED: "disturbed", Status.MIXED: "mixed", Status.INCOMPARABLE: "A/A"}


def verdict_name(judged: Judged) -> str:
    """The verdict in JSON and CSV; if it is withheld, the status that says why."""
    return (judged.contrast.status if judged.verdict is Verdict.WITHHELD else judged.verdict).value


def marked(text: str, verdict: Verdict, status: Status = Status.OK) -> str:
    """A change with the mark of its verdict: `+3.1%`, `~`, `+3.1%?`, `mixed`."""
    signs = {Verdict.UNDECIDED: "~", Verdict.EQUIVALENT: "=", Verdict.UNKNOWN: f"{text}?",
             Verdict.WITHHELD: WITHHELD_SIGNS.get(status, "")}
    return signs.get(verdict, text)


def judged_marked(text: str, judged: Judged) -> str:
    return marked(text, judged.verdict, judged.contrast.status)


def withheld_note(judged: Judged, metric: Metric) -> str:
    """Why a change is withheld, `mixed: the row has 45 of 60 rounds near 170 us, 15 near 3 ms`;
    empty if it is not, or if the sign says enough."""
    contrast = judged.contrast
    if judged.verdict is not Verdict.WITHHELD or contrast.status is Status.ABSENT:
        return ""
    zero = [f"{name} in {(series.values <= 0).sum()} of {len(series)} rounds"
            for name, series in (("the baseline", contrast.base), ("the row", contrast.new))
            if not series.positive]
    if contrast.status is Status.ZERO and zero:
        return f"no ratio: 0 of {' and '.join(zero)}"
    if contrast.status is not Status.MIXED or contrast.mixture is None:
        return STATUS_WHY[contrast.status]
    side, regimes = contrast.mixture
    low, high = (ratio_text(one) if side == "ratio" else value_text(one, metric.unit)
                 for one in (regimes.low, regimes.high))
    of = {"ratio": "the ratio", "new": "the row", "base": "the baseline"}[side]
    rounds = regimes.lower + regimes.upper
    return (f"mixed: {of} has {regimes.lower} of {rounds} rounds near {low}, "
            f"{regimes.upper} near {high}")
