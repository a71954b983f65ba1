# SPDX-License-Identifier: MIT
"""Which result a start of the runner continues, and what is left to run in it.

The caller gives what reads the stored result: which runs it has, and the rule by which until= adds
rounds, because the runner knows no figures. So a start after a kill adds the same rounds.
"""

import contextlib
import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from suite.base.errors import Failure, UsageError
from suite.base.text import say
from suite.measure.schedule import Run, round_order, seed_draw, session_schedule
from suite.result import files
from suite.result.plan import Boots, Plan, Programs, boot_changed
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
    return len(round_order(plan.runnable, 0, 1)) * (len(plan.session.rounds) + 1)


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


def programs_named(programs: Programs) -> dict[str, str]:
    """What identifies each program that measured, by its name in messages."""
    named = {f"build={value}": f"{build.revision}, {build.digest}"
             for value, build in programs.builds.items()}
    named |= {f"target={value}": ", ".join(map(" ".join, facts.items()))
              for value, facts in programs.targets.items()}
    return {**named, **programs.subjects}


def programs_changed(known: Programs, mine: Programs) -> str:
    """The first of my programs that is another one in a result: `with another build (...)`; empty
    if none is. A subject that was elsewhere is known by the name of its file."""
    elsewhere = {Path(path).name: digest for path, digest in known.subjects.items()
                 if path not in mine.subjects}
    before = {path: elsewhere[Path(path).name] for path in mine.subjects
              if Path(path).name in elsewhere} | programs_named(known)
    for name, text in programs_named(mine).items():
        if (was := before.get(name, text)) != text:
            return f"with another {name} ({was}; now it is {text})"
    return ""


def plan_continued(start: Start, folder: Path, plan: Plan) -> Plan:
    """The stored plan of a folder with the session to run: its last one, or with more a new one.
    UsageError where it is of another plan or build; without more where its last session is finished
    or of another boot; with more where that can be finished."""
    if changed := programs_changed(plan.programs, start.plan.programs):
        raise UsageError(f"{folder} was measured {changed}: choose another folder with -o")
    if other := plan.difference(start.plan):
        raise UsageError(f"{folder} has another plan ({other}): write its words, or choose another "
                         "folder with -o")
    changed_boot = boot_changed(plan.session.boots, start.boots)
    if changed_boot and not start.more:
        raise UsageError(f"{folder} was measured on {changed_boot}: choose another folder with -o, "
                         "or add a session of this boot with --more")
    runs = len(session_left(plan, start.stored(folder)[0]))
    left = f"{runs} runs left" if runs else ""
    if not runs and rounds_wanted(folder, plan, start.is_wide):
        left = f"rounds left that until={plan.until} adds"
    if left and start.more and not changed_boot:
        raise UsageError(f"{folder} has {left}: finish it without --more first")
    if not left and not start.more:
        raise UsageError(f"{folder} is finished: add a session with --more, "
                         "or choose another folder with -o")
    return plan.with_session(start.boots) if start.more else plan


def journal_continue(start: Start, folder: Path) -> files.Journal:
    """Continues the result in a folder; UsageError as plan_continued()."""
    descriptor = files.records_lock(folder)
    try:
        plan = files.plan_read(folder)
        if plan is None:
            raise Failure(f"{folder / files.PLAN} is gone")
        plan = plan_continued(start, folder, plan)
        done, whole = start.stored(folder)
        os.ftruncate(descriptor, whole)
        return files.Journal(folder, plan, done, descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def folder_find(start: Start) -> Path | None:
    """The newest result that can be continued; with more, only a finished one. A damaged one is
    skipped with a line."""
    for folder in files.results_newest():
        try:
            plan = files.plan_read(folder)
            with contextlib.suppress(UsageError):  # it is finished, or of another plan
                if plan and plan_continued(start, folder, plan) and not (
                        start.more and session_left(plan, start.stored(folder)[0])):
                    return folder
        except (Failure, UsageError) as error:
            say(f"skipped: {error}")
    return None


def folder_name(results: Path, name: str) -> Path:
    """results/NAME-YYYYmmdd-HHMMSS, with a number where two start in one second."""
    stem = results / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = (stem, *(stem.with_name(f"{stem.name}-{number}") for number in range(2, 1000)))
    return next(path for path in names if not path.exists())


def journal_open(start: Start, folder: Path | None, new: bool) -> files.Journal:
    """The result to write: in folder, or one that can be continued, or a new one. new: no result is
    continued. UsageError where folder is a file, has another plan, or contradicts more or new;
    Failure where it is damaged or another run writes it."""
    if folder is None and not new:
        folder = folder_find(start)
        if folder is None and start.more:
            raise UsageError("no finished result of this plan and build in "
                             f"{files.results_folder()} to add a session to")
    if folder is not None:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is a file: -o takes a folder")
        if files.plan_read(folder) is not None:
            if new:
                raise UsageError(f"{folder} has a result: --new begins another, "
                                 "choose another folder with -o")
            return journal_continue(start, folder)
    plan = start.plan if start.plan.seed is not None else replace(start.plan, seed=seed_draw())
    return files.journal_create(folder or folder_name(files.results_folder(), plan.name),
                                plan.with_session(start.boots))
