# SPDX-License-Identifier: MIT
"""Which result a start of the runner continues, and what is left to run in it.

The caller gives what reads the stored result: which runs it has, and the rule by which until= adds
rounds, because the runner knows no figures. So a start after a kill adds the same rounds.
"""

import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from suite.base.errors import Failure, UsageError
from suite.base.text import say
from suite.measure.schedule import Run, runs_per_round, seed_draw, session_schedule
from suite.result import files
from suite.result.files import Journal, plan_read, results_folder
from suite.result.plan import Boots, Plan, Programs
from suite.result.record import Outcomes, RunKey


@dataclass(frozen=True)
class Start:
    """One start of the runner: what it is to run, on which boots. more: in a new session of a
    finished result. is_wide: whether the result in a folder has intervals that are wider than
    until= allows. stored: its runs, and the size of their lines in bytes without a torn last one;
    Failure where a line is damaged."""

    plan: Plan
    boots: Boots
    more: bool
    is_wide: Callable[[Path], bool]
    stored: Callable[[Path], tuple[Outcomes, int]]


def session_left(plan: Plan, done: Collection[RunKey]) -> list[Run]:
    """The runs of the last session that have no record yet, in order."""
    name = plan.session.name
    return [run for run in session_schedule(plan, plan.session)
            if (name, run.round, run.cell.name, run.label) not in done]


def session_total(plan: Plan) -> int:
    return runs_per_round(plan.runnable) * (len(plan.session.rounds) + 1)


def rounds_added(done: int, most: int) -> int:
    """How many rounds until= adds to those done: a tenth. So it adds a few dozen times at most."""
    return min(max(1, done // 10), most - done)


def rounds_wanted(folder: Path, plan: Plan, is_wide: Callable[[Path], bool]) -> int:
    """How many rounds until= adds to the last session, whose runs are all done: 0 where all
    intervals are narrow enough, or the session has the most rounds."""
    done = len(plan.session.rounds)
    if plan.until is None or done >= plan.rounds_max or not is_wide(folder):
        return 0
    return rounds_added(done, plan.rounds_max)


def session_unfinished(start: Start, folder: Path, plan: Plan, done: Collection[RunKey]
                       ) -> str | None:
    """What is left of the last session of a folder; None: it is finished."""
    left = len(session_left(plan, done))
    if left:
        return f"{left} runs left"
    wanted = rounds_wanted(folder, plan, start.is_wide)
    return f"rounds left that until={plan.until} adds" if wanted else None


def programs_changed(known: Programs, mine: Programs) -> str:
    """How the programs of a result differ from mine: `with another build (...)`; empty if not."""
    for value, build in mine.builds.items():
        if (before := known.builds.get(value, build)).digest != build.digest:
            return (f"with another build={value} ({before.revision}, {before.digest}; now it is "
                    f"{build.revision}, {build.digest})")
    for value, found in mine.targets.items():
        if (facts := known.targets.get(value, found)) != found:
            texts = [", ".join(map(" ".join, one.items())) for one in (facts, found)]
            return f"where target={value} was another ({'; now it is '.join(texts)})"
    elsewhere = {Path(path).name: digest for path, digest in known.subjects.items()
                 if path not in mine.subjects}
    for path, digest in mine.subjects.items():
        known_digest = known.subjects.get(path, elsewhere.get(Path(path).name, digest))
        if known_digest != digest:
            return f"with another {path} ({known_digest}; now it is {digest})"
    if known.digest != mine.digest:
        return (f"with another build ({known.revision}, {known.digest}; this one is "
                f"{mine.revision}, {mine.digest})")
    return ""


def session_choose(start: Start, folder: Path, plan: Plan, done: Collection[RunKey]) -> Plan:
    """The plan with the session to run: the last one, or with more a new one. UsageError without
    more where the last one is finished or of another boot; with more where it can be finished."""
    changed, more = plan.session.boots.changed(start.boots), start.more
    if changed and not more:
        raise UsageError(f"{folder} was measured on {changed}: choose another folder with -o, or "
                         "add a session of this boot with --more")
    left = session_unfinished(start, folder, plan, done)
    if left and more and not changed:
        raise UsageError(f"{folder} has {left}: finish it without --more first")
    if not left and not more:
        raise UsageError(f"{folder} is finished: add a session with --more, "
                         "or choose another folder with -o")
    return plan.with_session(start.boots) if more else plan


def journal_continue(start: Start, folder: Path) -> Journal:
    """Continues the result in a folder: its unfinished session, or with more a new one. UsageError
    where it has another plan or build, and as session_choose()."""
    descriptor = files.records_lock(folder)
    try:
        plan = plan_read(folder)
        if plan is None:
            raise Failure(f"{folder / files.PLAN} is gone")
        if changed := programs_changed(plan.programs, start.plan.programs):
            raise UsageError(f"{folder} was measured {changed}: choose another folder with -o")
        if not plan.is_same(start.plan):
            raise UsageError(f"{folder} has another plan ({plan.difference(start.plan)}): write "
                             "its words, or choose another folder with -o")
        done, whole = start.stored(folder)
        os.ftruncate(descriptor, whole)
        return Journal(folder, session_choose(start, folder, plan, done), done, descriptor)
    except BaseException:
        os.close(descriptor)
        raise


@contextlib.contextmanager
def damaged_skip() -> Iterator[None]:
    """Skips a folder that is damaged: a line says where and why."""
    try:
        yield
    except (Failure, UsageError) as error:
        say(f"skipped: {error}")


def folder_find(start: Start) -> Path | None:
    """The newest result that can be continued: unfinished, of this plan, build and boot; with more,
    finished, of this plan and build. A damaged one is skipped with a line."""
    found, mine, results = [], start.plan.programs, results_folder()
    for folder in results.iterdir() if results.is_dir() else ():
        with damaged_skip():
            if plan := plan_read(folder):
                found.append((folder, plan))
    found.sort(key=lambda one: one[1].sessions[0].started_unix_ns, reverse=True)
    for folder, plan in found:
        if (plan.programs.digests == mine.digests and plan.programs.targets == mine.targets
                and plan.is_same(start.plan)
                and (start.more or not plan.session.boots.changed(start.boots))):
            with damaged_skip():
                done, _ = start.stored(folder)
                if start.more == (session_unfinished(start, folder, plan, done) is None):
                    return folder
    return None


def folder_name(results: Path, name: str) -> Path:
    """results/NAME-YYYYmmdd-HHMMSS, with a number where two start in one second."""
    stem = results / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (stem, *(stem.with_name(f"{stem.name}-{number}") for number in range(2, 1000)))
    return next(path for path in names if not path.exists())


def journal_open(start: Start, folder: Path | None, new: bool) -> Journal:
    """The result to write: in folder, or one that can be continued, or a new one. new: no result is
    continued. UsageError where folder is a file, has another plan, or contradicts more or new;
    Failure where it is damaged or another run writes it."""
    if folder is None and not new:
        folder = folder_find(start)
        if folder is None and start.more:
            raise UsageError(f"no finished result of this plan and build in {results_folder()} "
                             "to add a session to")
    if folder is not None:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is a file: -o takes a folder")
        if plan_read(folder) is not None:
            if new:
                raise UsageError(f"{folder} has a result: --new begins another, "
                                 "choose another folder with -o")
            return journal_continue(start, folder)
    plan = start.plan if start.plan.seed is not None else replace(start.plan, seed=seed_draw())
    return files.journal_create(folder or folder_name(results_folder(), plan.name),
                                plan.with_session(start.boots))
