# SPDX-License-Identifier: MIT
"""What `uncork run -n` prints: how much would run, how long, and every cell as a command. Pure."""

from collections.abc import Sequence

from suite import stats
from suite.base.by_hand import by_hand_lines
from suite.base.runner_words import ARRIVAL_SEED, DRAWN, LOCAL, boot_of, target_of
from suite.base.units import counted_text
from suite.measure.host_facts import clients_of
from suite.measure.plan import Planned
from suite.measure.progress import clock_text
from suite.measure.runner import runs_seconds
from suite.measure.schedule import Run, cell_in_round, round_order
from suite.places.targets import Targets
from suite.result.plan import Plan


def estimate_text(plan: Plan, runs: Sequence[Run], times: int = 1) -> str:
    """The estimated time: `about 0:38`, with until= `at least 0:38`, and how much is not known."""
    seconds, unknown = runs_seconds(runs, plan.hosts is not None)
    return time_text(seconds * times, unknown * times, "at least" if plan.until else "about")


def time_text(seconds: float, unknown: int, about: str = "about") -> str:
    text = f"{about} {clock_text(seconds)}"
    return f"{text} and {unknown} runs of unknown time" if unknown else text


def deciding_lines(plan: Plan, rounds: int) -> list[str]:
    """What so many rounds cannot decide; none where they can find a single changed row."""
    compared = plan.compared
    rows, paired = len(compared), any(boot_of(cell.words) == boot_of(base.words)
                                      for cell, base in compared)
    decided = stats.rows_decided(rounds, paired)
    if decided >= rows:
        return []
    can = (f"can decide a single change in a table of {counted_text(decided, 'row')}"
           if decided else "can decide nothing")
    return [f"{counted_text(rounds, 'round')} {can}; for the {counted_text(rows, 'row')} here it "
            f"takes rounds={stats.rounds_deciding(rows, paired)}"]


def plan_text(planned: Planned, targets: Targets) -> str:
    """What `-n` prints: how much, how long, then every cell that can run as a command."""
    plan, client = planned.plan, targets.local
    runs, rounds = round_order(plan.runnable, 0, 1), plan.rounds + 1
    least = "at least " if plan.until else ""
    more = f" (until={plan.until}: at most {plan.rounds_max})" if plan.until else ""
    lines = [f"# {plan.name}: {planned.scenario.question}".rstrip(": "),
             f"# {counted_text(len(plan.runnable), 'cell')}, {counted_text(len(runs), 'run')} a "
             f"round (baselines twice), {least}{counted_text(plan.rounds, 'round')}{more} and a "
             f"warm-up round: {least}{len(runs) * rounds} runs, "
             f"{estimate_text(plan, runs, rounds)}",
             f"# varies: {', '.join(plan.axes) or 'nothing'}; "
             f"baseline: {plan.baseline or 'the only cell'}; "
             f"seed: {'random' if plan.seed is None else plan.seed}",
             *(f"# {note}" for note in (*planned.notes, *deciding_lines(plan, plan.rounds)))]
    if any(cell.words.get(ARRIVAL_SEED) == DRAWN for cell in plan.runnable):
        lines.append(f"# each round draws an {ARRIVAL_SEED} of its own; the commands have "
                     + ("the default" if plan.seed is None else "that of round 1"))
    folders = {value: str(build.folder) for value, build in clients_of(client, plan).items()}
    cells = [cell.given if plan.seed is None else cell_in_round(cell, plan.seed, 1).given
             for cell in plan.runnable]
    here = [given for given in cells if target_of(given) == LOCAL]
    lines += by_hand_lines(here, folders, plan.timer, client.server_options)
    for given in cells:
        lines += targets.target(given).by_hand(given) if target_of(given) != LOCAL else ()
    lines += [f"# unsupported: {cell.name}: {cell.unsupported}"
              for cell in plan.cells if cell.unsupported is not None]
    return "\n".join(lines)
