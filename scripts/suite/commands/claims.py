# SPDX-License-Identifier: MIT
"""`uncork claims list|run|report`: replays published claims and gives a verdict on each.

`claims run` writes a folder with a result for each claim, and `claims.json`: the claims that were
asked for, and why one could not run. It starts `uncork run` for each, which resumes its result.
"""

import argparse
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from suite.base.client import claim_names, claim_path, client_open
from suite.base.errors import Failure, Interrupted, UsageError
from suite.base.process import SUITE, signals_blocked, signals_unblock
from suite.base.text import labelled_lines, say, terminal_width
from suite.base.units import counted_text
from suite.decide import replays
from suite.decide.expressions import claim_parse, claims_check
from suite.measure.plan import plan_make
from suite.measure.progress import clock_text
from suite.measure.resume import folder_name
from suite.measure.runner import runs_seconds, signals_handle
from suite.measure.schedule import round_order
from suite.places.targets import Targets
from suite.present.claims import claims_document, published_text
from suite.present.tables import document_text
from suite.result import files
from suite.result.plan import Plan
from suite.scenario.scenario import Scenario, scenario_load, scenario_text

ALL = "all"


class Planned(NamedTuple):
    """A claim with its plan on this machine. lacking: why some of its cells cannot run, or empty.
    plan: None if there is no such target."""

    path: Path
    scenario: Scenario
    lacking: str
    plan: Plan | None = None

    @property
    def name(self) -> str:
        return self.scenario.name

    @property
    def able(self) -> bool:
        """Whether any cell can run."""
        return self.plan is not None and bool(self.plan.runnable)

    @property
    def estimate(self) -> tuple[float, int]:
        """How long its replay takes in seconds, without this number of runs of unknown time."""
        if self.plan is None:
            return 0.0, 0
        seconds, unknown = runs_seconds(round_order(self.plan.runnable, 0, 1))
        return seconds * (self.plan.rounds + 1), unknown * (self.plan.rounds + 1)

    @property
    def text(self) -> str:
        """How long its replay takes here, or why it cannot run."""
        return time_text(*self.estimate) if self.able else f"{replays.CANNOT_RUN}: {self.lacking}"


def time_text(seconds: float, programs: int) -> str:
    more = f", and {counted_text(programs, 'whole program')}" if programs else ""
    return f"about {clock_text(seconds)}{more}"


def claim_plan(targets: Targets, name: str, words: Sequence[str], quick: bool) -> Planned:
    """Plans a claim. UsageError for a file that is no claim, or words that it does not take."""
    path = claim_path(name)
    scenario = replays.replay_load(path)
    try:
        plan = plan_make(targets, scenario, path, words, quick).plan
    except Failure as error:  # no such target
        return Planned(path, scenario, str(error))
    claims_check(scenario, path, plan, bool(words))
    lacking = next((cell.unsupported for cell in plan.cells if cell.unsupported), "")
    return Planned(path, scenario, lacking, plan)


def claims_plan(names: Sequence[str], words: Sequence[str] = (), quick: bool = False
                ) -> list[Planned]:
    with Targets(client_open()) as targets:
        return [claim_plan(targets, name, words, quick) for name in names]


def list_main(options: argparse.Namespace) -> int:
    planned = claims_plan(options.names or claim_names())
    if options.json:
        print(files.json_text([replays.claim_head(one.scenario) | {
            "name": one.name, "seconds": round(one.estimate[0]), "able": one.able,
            "lacking": one.lacking, "claims": [vars(claim) for claim in one.scenario.claims],
        } for one in planned]), end="")
        return 0
    for one in planned:
        origin = one.scenario.origin
        rows = [("asks", one.scenario.question),
                ("from", f"{origin.who}: {origin.reference}" if origin else ""),
                ("claims", "; ".join(f"{claim.says}: {published_text(claim_parse(claim.that))}"
                                     for claim in one.scenario.claims)),
                ("here", one.text),
                *([("lacks", one.lacking)] if one.able and one.lacking else [])]
        print("\n".join([one.name, *labelled_lines(rows, terminal_width(100), "  "), ""]))
    able = [one.estimate for one in planned if one.able]
    time = time_text(sum(seconds for seconds, _ in able), sum(programs for _, programs in able))
    print(f"{len(able)} of {counted_text(len(planned), 'claim')} can run here, in {time}")
    return 0


def as_published(scenario: Scenario) -> Scenario:
    """The parts of a claim that neither words of the shell nor --quick can change."""
    return Scenario(scenario.name, origin=scenario.origin, arms=scenario.arms,
                    claims=scenario.claims)


def result_check(result: Path, planned: Planned) -> None:
    """UsageError if the stored result of a claim is of another claim or of other words."""
    if not (plan := files.plan_read(result)):
        return
    if as_published(scenario_load(result / files.SCENARIO)) != as_published(planned.scenario):
        raise UsageError(f"{planned.path} has changed since {result} was measured: choose another "
                         "folder with -o")
    if planned.plan and not plan.is_same(planned.plan):
        raise UsageError(f"{result} has another plan ({plan.difference(planned.plan)}): choose "
                         "another folder with -o")


def claim_run(arguments: Sequence[str], kept: str) -> int:
    """Runs `uncork run` and returns its exit status. A signal to this program or to that one ends
    both; the error then has the text kept."""
    child = None
    try:
        with signals_blocked():
            child = subprocess.Popen([*SUITE, "run", *arguments], stdout=subprocess.DEVNULL,
                                     preexec_fn=signals_unblock)
        status = child.wait()
    except KeyboardInterrupt as signalled:
        if child:
            child.terminate()
            child.wait()
        raise Interrupted(signalled, f": {kept}") from None
    if not 0 <= status < 128:  # a signal ended it, or its shell
        raise Failure(kept)
    return status


def run_main(options: argparse.Namespace) -> int:
    """Replays the claims, then prints the report and returns its status."""
    words = [text for text in options.names if "=" in text]
    names = [text for text in options.names if "=" not in text]
    if not names:
        raise UsageError(f"claims run: which claims? ID, or {ALL}")
    planned = claims_plan(claim_names() if names == [ALL] else names, words, options.quick)
    folder = (Path(options.output) if options.output
              else folder_name(files.results_folder(), "claims"))
    for one in planned:
        result_check(folder / one.name, one)
    folder.mkdir(parents=True, exist_ok=True)
    signals_handle()
    files.writable_check(folder / files.CLAIMS)  # a pipe would never be read to its end
    index = replays.index_read(folder)
    for number, one in enumerate(planned, 1):
        index[one.name] = "" if one.able else one.lacking
        files.file_write(folder / files.CLAIMS, files.json_text(index))
        say(f"claim {number} of {len(planned)}: {one.name}: {one.text}")
        if not one.able:
            (folder / one.name).mkdir(exist_ok=True)
            files.file_write(folder / one.name / files.SCENARIO, scenario_text(one.scenario))
            continue
        quick = ["--quick"] if options.quick else []
        status = claim_run([str(one.path), *words, *quick, "-o", str(folder / one.name)],
                           f"{folder} keeps what was measured so far; the same command resumes it")
        if not (folder / one.name / files.PLAN).exists():
            index[one.name] = f"uncork run ended with status {status}"
            files.file_write(folder / files.CLAIMS, files.json_text(index))
    print(folder)
    return report_print([folder], None)


def report_print(sources: Sequence[Path], style: str | None) -> int:
    systems = [system for source in sources for system in replays.systems_read(source)]
    print(document_text(claims_document(systems), style), end="")
    return replays.replays_status(replays.verdicts_of(systems))


def main(options: argparse.Namespace) -> int:
    if options.part == "list":
        return list_main(options)
    if options.part == "run":
        return run_main(options)
    return report_print([Path(text) for text in options.results], options.format)
