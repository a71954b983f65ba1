# SPDX-License-Identifier: MIT
"""`uncork claims list|run|report`: replays published claims and gives a verdict on each.

`claims run` writes a folder with a result for each claim, and `claims.json`: the claims that were
asked for, and why one could not run. It starts `uncork run` for each, which resumes its result.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from suite.base.client import claim_names, claim_path, client_open
from suite.base.errors import Failure, UsageError
from suite.base.process import SUITE, process_run
from suite.base.text import block, say
from suite.base.units import counted_text
from suite.decide import replays
from suite.decide.expressions import claim_parse, claims_check
from suite.measure.dry_run import time_text
from suite.measure.plan import plan_make
from suite.measure.resume import folder_name
from suite.measure.runner import runs_seconds, signals_handle
from suite.measure.schedule import round_order
from suite.observe.load import stored_runs
from suite.places.targets import Targets
from suite.present.claims import claims_document, published_text
from suite.present.tables import document_text
from suite.result import files
from suite.result.plan import Plan
from suite.result.record import failures_text
from suite.scenario.scenario import Scenario, scenario_load, scenario_text

ALL = "all"


class Planned(NamedTuple):
    """A claim with its plan on this machine. lacking: why some of its cells cannot run, or empty.
    plan: None if there is no such target. seconds: how long its replay takes, without the runs of
    unknown time."""

    path: Path
    scenario: Scenario
    lacking: str
    plan: Plan | None = None
    seconds: float = 0.0
    unknown: int = 0

    @property
    def able(self) -> bool:
        """Whether any cell can run."""
        return self.plan is not None and bool(self.plan.runnable)

    @property
    def text(self) -> str:
        """How long its replay takes here, or why it cannot run."""
        return (time_text(self.seconds, self.unknown) if self.able else
                f"{replays.CANNOT_RUN}: {self.lacking}")


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
    seconds, unknown = runs_seconds(round_order(plan.runnable, 0, 1))
    rounds = plan.rounds + 1
    return Planned(path, scenario, lacking, plan, seconds * rounds, unknown * rounds)


def claims_plan(names: Sequence[str], words: Sequence[str] = (), quick: bool = False
                ) -> list[Planned]:
    with Targets(client_open()) as targets:
        return [claim_plan(targets, name, words, quick) for name in names]


def uncork_claims_list(options: argparse.Namespace) -> None:
    planned = claims_plan(options.names or claim_names())
    if options.json:
        print(files.json_text([replays.claim_head(one.scenario) | {
            "name": one.scenario.name, "seconds": round(one.seconds), "able": one.able,
            "lacking": one.lacking, "claims": [vars(claim) for claim in one.scenario.claims],
        } for one in planned]), end="")
        return
    for one in planned:
        origin = one.scenario.origin
        rows = [("asks", one.scenario.question),
                ("from", f"{origin.who}: {origin.reference}" if origin else ""),
                ("claims", "; ".join(f"{claim.says}: {published_text(claim_parse(claim.that))}"
                                     for claim in one.scenario.claims)),
                ("here", one.text),
                *([("lacks", one.lacking)] if one.able and one.lacking else [])]
        print(block(one.scenario.name, rows), end="\n\n")
    able = [one for one in planned if one.able]
    time = time_text(sum(one.seconds for one in able), sum(one.unknown for one in able))
    print(f"{len(able)} of {counted_text(len(planned), 'claim')} can run here, in {time}")


def result_check(result: Path, planned: Planned) -> None:
    """UsageError if the stored result of a claim is of another claim or of other words."""
    if not (plan := files.plan_read(result)):
        return
    # what neither words of the shell nor --quick can change
    stored, mine = ((one.name, one.origin, one.arms, one.claims)
                    for one in (scenario_load(result / files.SCENARIO), planned.scenario))
    if stored != mine:
        raise UsageError(f"{planned.path} has changed since {result} was measured: choose another "
                         "folder with -o")
    if planned.plan and (other := plan.difference(planned.plan)):
        raise UsageError(f"{result} has another plan ({other}): choose another folder with -o")


def uncork_claims_run(options: argparse.Namespace) -> int:
    """Replays the claims, then prints the report and returns its status."""
    words = [text for text in options.names if "=" in text]
    names = [text for text in options.names if "=" not in text]
    if not names:
        raise UsageError(f"claims run: which claims? ID, or {ALL}")
    planned = claims_plan(claim_names() if names == [ALL] else names, words, options.quick)
    folder = Path(options.output or folder_name(files.results_folder(), "claims"))
    for one in planned:
        result_check(folder / one.scenario.name, one)
    folder.mkdir(parents=True, exist_ok=True)
    signals_handle()
    files.writable_check(folder / files.CLAIMS)  # a pipe would never be read to its end
    index = replays.index_read(folder)
    given = ["--keep-going", *(["--quick"] if options.quick else [])]
    kept = f"{folder} keeps what was measured so far; the same command resumes it"
    for number, one in enumerate(planned, 1):
        result = folder / one.scenario.name
        index[result.name] = "" if one.able else one.lacking
        files.file_write(folder / files.CLAIMS, files.json_text(index))
        say(f"claim {number} of {len(planned)}: {result.name}: {one.text}")
        if not one.able:
            result.mkdir(exist_ok=True)
            files.file_write(result / files.SCENARIO, scenario_text(one.scenario))
            continue
        try:
            status = process_run([*SUITE, "run", str(one.path), *words, *given, "-o", str(result)],
                                 stderr=None).returncode
        except KeyboardInterrupt as signalled:
            signalled.add_note(kept)
            raise
        if not 0 <= status < 128:  # a signal ended it, or its shell
            raise Failure(kept)
        if not (result / files.PLAN).exists():
            index[result.name] = f"uncork run ended with status {status}"
            files.file_write(folder / files.CLAIMS, files.json_text(index))
    print(folder)
    status = report_print([folder])
    if not options.keep_going:
        failures_check(folder / one.scenario.name for one in planned)
    return status


def failures_check(results: Iterable[Path]) -> None:
    """Failure if runs of these results failed."""
    failures = {result.name: failures_text(stored_runs(result)[0]) for result in results}
    if texts := [f"{name}: {text}" for name, text in failures.items() if text]:
        raise Failure(*texts)


def report_print(sources: Sequence[Path], style: str | None = None) -> int:
    systems = [system for source in sources for system in replays.systems_read(source)]
    print(document_text(claims_document(systems), style), end="")
    return replays.replays_status(replays.verdicts_of(systems))


def uncork_claims_report(options: argparse.Namespace) -> int:
    return report_print([Path(text) for text in options.results], options.format)
