# SPDX-License-Identifier: MIT
"""`uncork run [files.SCENARIO] [word=value ...]`: measures a matrix and prints its table."""

import argparse
import contextlib
import errno
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from suite.base import grouped
from suite.base.by_hand import TIMER
from suite.base.client import (
    Client,
    Vocabulary,
    build_digest,
    client_open,
    scenario_names,
    server_options_check,
    server_options_choose,
)
from suite.base.errors import Failure, Interrupted, UsageError, nearest_hint
from suite.base.runner_words import ARM, RUN_WORDS, TARGET, starts_from_here
from suite.base.text import say
from suite.base.units import counted_text, value_text
from suite.decide.expressions import axes_of, claims_check, selectors_of
from suite.measure.dry_run import deciding_lines, estimate_text, plan_text
from suite.measure.host_facts import builds_read, hosts_collect
from suite.measure.hyperfine import version_read
from suite.measure.plan import Planned, plan_make, selectors_check
from suite.measure.progress import round_text
from suite.measure.resume import Start, journal_open, session_left, session_total
from suite.measure.runner import matrix_run, signals_handle
from suite.measure.words import scenario_choose
from suite.observe.measured import MeasuredRun
from suite.observe.metrics import METRICS, metric_find
from suite.places.targets import Targets
from suite.result import files
from suite.result.checks import Damaged
from suite.result.files import Journal, result_find
from suite.result.machine import Facts, disturbed_text
from suite.result.plan import Boots, Plan, Programs
from suite.result.record import WARMUP_ROUND, JsonObject, Outcomes, Record
from suite.scenario.scenario import Scenario
from suite.scenario.subject import is_parameter, parameter_values, programs_used


def answers_check(client: Client, vocabulary: Vocabulary, scenario: Scenario, path: Path) -> None:
    """UsageError if a scenario names an unknown metric or word."""
    for where, names in (
        ("[published] metric", [figure.metric for figure in scenario.published]),
        ("[answer] metric", [question.metric for question in scenario.answers]),
        # a word that varies has a column for each value
        ("[table] columns", [one for one in scenario.table.columns if one not in scenario.sweep]),
        ("[table] gain", [scenario.table.gain]),
        ("[picture] metric", [picture.metric for picture in scenario.pictures]),
    ):
        for name in filter(None, names):
            metric_find(name, f"{path}: {where}")
    words = vocabulary.words
    try:
        selectors, axes = dict(selectors_of(scenario)), tuple(axes_of(scenario))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    for axis, where in axes:
        if is_parameter(axis):
            parameter_values(axis, (), f"{path}: {where}: ")
        elif axis != ARM and axis.split(".")[-1] not in words:
            raise UsageError(f"{path}: {where}: unknown word {axis}{nearest_hint(axis, words)}")
    selectors_check(client, [(text, f"{path}: {where}") for text, where in selectors.items()
                             if text])


def header_say(planned: Planned, journal: Journal, machine: Sequence[str]) -> None:
    """Prints what disturbs the machine, plan and folder. The line of a resumed run comes first."""
    plan = journal.plan
    runs = session_left(plan, journal.done)
    total, folder = session_total(plan), path_text(journal.folder)
    least = "at least " if plan.until else ""
    if journal.resumed and not runs:
        begins = (
            f"resuming {folder}: all {total} runs are done, and until={plan.until} asks for more")
    elif journal.resumed:
        first, done = runs[0], total - len(runs)
        begins = (f"resuming {folder} at {round_text(first.round, plan.session.last)}, "
                  f"{first.cell.name} ({done} of {least}{total} runs done), "
                  f"{estimate_text(plan, runs)}")
    else:
        out = len(plan.cells) - len(plan.runnable)
        cells = counted_text(len(plan.runnable),
                             "cell") + (f" and {out} unsupported" if out else "")
        begins = (f"{plan.name}: {cells}, {least}{total} runs, {estimate_text(plan, runs)}, "
                  f"into {folder}")
    notes = (*planned.notes, *deciding_lines(plan, plan.session.last))
    for line in (begins, *machine, *notes) if journal.resumed else (*machine, *notes, begins):
        say(line)


def path_text(path: Path) -> str:
    """The path, relative to the working directory if it is below it."""
    absolute = path.absolute()
    here = Path.cwd()
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute)


def record_figure(document: JsonObject) -> str:
    """The figure of a run for the progress: its time, or why it has none."""
    record = Record(document)
    if record.status != "ok":
        return record.status
    if record.hyperfine:
        return value_text(METRICS["time"].formula(MeasuredRun(record)) or 0.0, "s")
    metric = METRICS["time_per_message"]
    value = metric.formula(MeasuredRun(record))
    return "no message" if value is None else f"{value_text(value, metric.unit)}/message"


def journal_run(targets: Targets, journal: Journal) -> None:
    """Runs what is left. Interrupted has the command that resumes it."""
    try:
        matrix_run(targets, journal, record_figure, intervals_are_wide)
    except KeyboardInterrupt as signalled:
        total, left = session_total(journal.plan), len(session_left(journal.plan, journal.done))
        raise Interrupted(
            signalled, f": {total - left} of {total} runs are kept in "
            f"{path_text(journal.folder)}; to go on: {resume_command()}") from None


def intervals_are_wide(folder: Path) -> bool:
    """Whether the intervals of a stored result are wider than until= allows."""
    from suite.decide.precision import precision_measure
    from suite.observe.frame import matrix_load  # pandas is slow to import
    precision = precision_measure(matrix_load(folder))
    return precision is not None and bool(precision.wide)


def runs_stored(folder: Path) -> tuple[Outcomes, int]:
    """The runs of a stored result, and the size of their lines."""
    from suite.observe.load import stored_runs  # pandas is slow to import
    return stored_runs(folder)


def answer_print(journal: Journal) -> None:
    """Prints the outcome of until=, then the folder, and the table as `uncork table` prints it."""
    from suite.decide.precision import precision_measure, precision_text
    from suite.observe.frame import matrix_load
    from suite.present.table import table_document
    from suite.present.tables import document_text
    matrix = matrix_load(journal.folder)
    if precision := precision_measure(matrix):
        say(f"round {journal.plan.session.last} was the last: until={precision_text(precision)}")
    print(path_text(journal.folder), flush=True)
    document = table_document(matrix, matrix.result.scenario.table, ends_a_run=True)
    print(document_text(document), end="", flush=True)


def some_cell_require(plan: Plan, reasons: Mapping[str, str]) -> None:
    """Failure if no cell was or can be measured. reasons: why a cell that ran was not measured."""
    every = {cell.name: f"unsupported: {cell.unsupported}" for cell in plan.cells
             if cell.unsupported is not None} | dict(reasons)
    if len(every) == len(plan.cells):
        (reason, count), *others = Counter(every.values()).most_common()
        more = f"; {counted_text(len(others), 'other reason')}" if others else ""
        raise Failure(f"nothing {'was' if reasons else 'can be'} measured: {count} of "
                      f"{counted_text(len(every), 'cell')} {reason}{more}")


def outcome_check(journal: Journal) -> None:
    """Prints how many runs failed. Failure if all counted runs of a cell failed."""
    runs = [(cell, number, status, reason or "no reason given")
            for (session, number, cell, _), (status, reason) in journal.done.items()
            if session == journal.plan.session.name]
    failures = [reason for _, _, status, reason in runs if status == "failed"]
    counted = grouped((cell, (status, reason)) for cell, number, status, reason in runs
                      if number != WARMUP_ROUND)
    if failures:
        say(f"{len(failures)} of {len(runs)} runs failed: {failures[-1]}")
    some_cell_require(journal.plan, {cell: ": ".join(found[-1]) for cell, found in counted.items()
                                     if "ok" not in dict(found)})
    lost = {cell: found[-1][1] for cell, found in counted.items()
            if {status for status, _ in found} == {"failed"}}
    if lost:
        cell, reason = next(iter(lost.items()))
        more = f" (and {counted_text(len(lost) - 1, 'more cell')})" if len(lost) > 1 else ""
        raise Failure(f"every run of {cell}{more} failed: {reason}")


def result_named(words: Sequence[str], more: bool) -> str | None:
    """The folder of a result in place of a scenario. With --more only a result is possible."""
    if len(words) != 1 or "=" in words[0] or words[0] in scenario_names():
        return None
    try:
        folder = result_find(Path(words[0]))
    except UsageError:
        if more and not words[0].endswith(".toml"):
            raise
        return None
    return str(folder) if more or files.plan_read(folder) else None


def result_given(options: argparse.Namespace) -> tuple[Path, Plan] | None:
    """The result to resume, and its plan; None if a new result is asked for."""
    if not options.output and (named := result_named(options.words, options.more)):
        options.output, options.words = named, []
    if not options.output or (options.words and not options.more):
        return None
    folder = result_find(Path(options.output)) if options.more else Path(options.output)
    if files.is_reference(folder):
        raise UsageError(f"reference/{folder.name} is a reference result, which is only read: "
                         "a run of a scenario writes a result of your own")
    plan = files.plan_read(folder)
    if plan is None and options.more:
        raise UsageError(f"{folder} has no result to add a session to")
    return (folder, plan) if plan else None


def runs_left_text(folder: Path, plan: Plan) -> str:
    left = len(session_left(plan, runs_stored(folder)[0]))
    return (f"{path_text(folder)} has {counted_text(left, 'run')} left" if left else
            f"{path_text(folder)} has nothing left to do: --more adds a session")


def resume_command() -> str:
    return f"uncork {shlex.join(text for text in sys.argv[1:] if text != '--more')}"


@contextlib.contextmanager
def full_disk_explained() -> Iterator[None]:
    """If no space is left for a file of the result, Failure says how to resume."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Failure(f"{error.filename}: {error.strerror}: what is stored is kept; when there is "
                      f"space, to go on: {resume_command()}") from None


def main(options: argparse.Namespace) -> None:
    if options.output == "-":
        raise UsageError("-o -: a result is a folder: give its name")
    if options.fail_if and not options.dry_run:
        raise UsageError("--fail-if needs -n, and prints how many rounds a gate needs; "
                         "uncork compare RESULT --fail-if applies the gate")
    given = result_given(options)
    stored = None if options.words or options.quick else given  # its scenario is taken
    scenario, path, words = scenario_choose(
        [str(stored[0] / files.SCENARIO)] if stored else options.words)
    server_options = server_options_choose(Path(options.psk) if options.psk else None,
                                           options.insecure)
    client = replace(client_open(), server_options=server_options)
    signals_handle()
    with Targets(client) as targets:
        planned = plan_make(targets, scenario, path, words, options.quick)
        plan, notes = planned.plan, [*planned.notes]
        server_options_check(server_options, (cell.name.split() for cell in plan.cells))
        if stored:
            plan = replace(plan, quick=stored[1].quick)
        elif path is not None:
            answers_check(client, planned.vocabulary, scenario, path)
            overridden = any(text.partition("=")[0] not in RUN_WORDS for text in words)
            notes += claims_check(scenario, path, plan, overridden)
        if options.dry_run and given and not options.more:
            notes.append(runs_left_text(*given))
        if options.fail_if:
            from suite.decide.gate import gates_parse
            from suite.present.comparison.gate import plan_lines
            notes += plan_lines(plan, gates_parse(options.fail_if))
        planned = replace(planned, plan=plan, notes=tuple(notes))
        if options.dry_run:
            print(plan_text(planned, targets))
            return
        some_cell_require(plan, {})
        if plan.timer == TIMER:
            version_read()
        folder = given[0] if given else Path(options.output) if options.output else None
        with full_disk_explained(), contextlib.closing(
                journal_begin(options, folder, planned, targets)) as journal:
            journal_run(targets, journal)
            answer_print(journal)
            outcome_check(journal)


def kernels_changed(folder: Path, hosts: Mapping[str, Facts]) -> list[str]:
    """A line for each target whose kernel is none of those of the earlier sessions of a result.
    hosts: the machines of the new session."""
    try:
        before = files.machines_read(folder).values()
    except (OSError, Damaged):
        return []
    lines = []
    for target in dict.fromkeys(facts.get(TARGET) for facts in hosts.values()):
        old, new = (dict.fromkeys(facts["kernel"] for facts in found
                                  if facts.get(TARGET) == target and "kernel" in facts)
                    for found in (before, hosts.values()))
        if old and (others := [kernel for kernel in new if kernel not in old]):
            where = f" {TARGET}={target}" if target else ""
            lines.append(f"another kernel{where}: {', '.join(others)}, in sessions before "
                         f"{', '.join(old)}; a table joins their rounds, -o DIR keeps them apart")
    return lines


def journal_begin(options: argparse.Namespace, folder: Path | None, planned: Planned,
                  targets: Targets) -> Journal:
    client = targets.local
    hosts, mine = hosts_collect(targets, planned.plan)
    vocabulary = planned.vocabulary
    programs = Programs(vocabulary.version, vocabulary.revision, build_digest(client),
                        builds_read(client, planned.plan), targets.identities(),
                        vocabulary.homepage, programs_used(
                            cell.words for cell in planned.plan.runnable
                            if starts_from_here(cell.words)))
    start = Start(replace(planned.plan, programs=programs), Boots(mine, targets.boot_ids()),
                  options.more, intervals_are_wide, runs_stored)
    journal = journal_open(start, folder, options.new)
    changed = kernels_changed(journal.folder, hosts) if options.more else []
    try:
        seed, scenario = {"seed": str(journal.plan.seed)}, planned.scenario
        journal.begin(replace(scenario, run=scenario.run | seed), hosts)
        disturbed = disturbed_text(hosts[mine]["doctor"])
        header_say(planned, journal, [
            f"doctor: {disturbed}: see uncork doctor" if disturbed else "", *changed])
    except BaseException:
        journal.close()
        raise
    return journal
