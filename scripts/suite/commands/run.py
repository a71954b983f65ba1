# SPDX-License-Identifier: MIT
"""`uncork run [SCENARIO] [word=value ...]`: measures a matrix and prints its table."""

import argparse
import contextlib
import errno
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from suite.base import client, grouped
from suite.base.by_hand import TIMER
from suite.base.errors import Failure, UsageError, error_in, nearest_hint
from suite.base.runner_words import ARM, RUN_WORDS, TARGET, starts_from_here
from suite.base.text import say
from suite.base.units import counted_text
from suite.decide.expressions import axes_of, claims_check, selectors_of
from suite.measure.dry_run import deciding_lines, estimate_text, plan_text
from suite.measure.host_facts import builds_read, hosts_collect
from suite.measure.hyperfine import version_read
from suite.measure.plan import Planned, plan_make, selectors_check
from suite.measure.resume import Start, journal_open, session_left, session_total
from suite.measure.runner import matrix_run, signals_handle
from suite.measure.words import scenario_choose
from suite.observe.metrics import metric_find
from suite.places.targets import Targets
from suite.result import files
from suite.result.checks import Damaged
from suite.result.machine import Facts, disturbed_text
from suite.result.plan import Plan, Programs
from suite.result.record import WARMUP_ROUND, Outcomes, failures_text
from suite.scenario.scenario import Scenario
from suite.scenario.subject import is_parameter, parameter_values, programs_used


def answers_check(asked: client.Client, words: Mapping[str, object], scenario: Scenario, path: Path
                  ) -> None:
    """UsageError if a scenario names an unknown metric or word. words: that the client knows."""
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
    with error_in(f"{path}: "):
        selectors, axes = dict(selectors_of(scenario)), tuple(axes_of(scenario))
    for axis, where in axes:
        if is_parameter(axis):
            parameter_values(axis, (), f"{path}: {where}: ")
        elif axis != ARM and axis.split(".")[-1] not in words:
            raise UsageError(f"{path}: {where}: unknown word {axis}{nearest_hint(axis, words)}")
    selectors_check(asked, [(text, f"{path}: {where}") for text, where in selectors.items()
                            if text])


def header_say(planned: Planned, journal: files.Journal) -> None:
    """Prints plan and folder, and notes."""
    plan = journal.plan
    runs, total = session_left(plan, journal.done), session_total(plan)
    cells, out = counted_text(len(plan.runnable), "cell"), len(plan.cells) - len(plan.runnable)
    unsupported = f" and {out} unsupported" if out else ""
    done = f" ({total - len(runs)} of {total} runs done)" if journal.resumed else ""
    say(f"{'resuming ' if journal.resumed else ''}{plan.name}: {cells}{unsupported}, "
        f"{'at least ' if plan.until else ''}{total} runs{done}, {estimate_text(plan, runs)}, "
        f"into {path_text(journal.folder)}")
    for line in (*planned.notes, *deciding_lines(plan, plan.session.last)):
        say(line)


def path_text(path: Path) -> str:
    """The path, relative to the working directory if it is below it."""
    absolute, here = path.absolute(), Path.cwd()
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute)


def journal_run(targets: Targets, journal: files.Journal) -> None:
    """Runs what is left. A note of an interruption has the command that resumes it."""
    try:
        matrix_run(targets, journal, intervals_are_wide)
    except KeyboardInterrupt as signalled:
        total, left = session_total(journal.plan), len(session_left(journal.plan, journal.done))
        signalled.add_note(f"{total - left} of {total} runs are kept in "
                           f"{path_text(journal.folder)}; to go on: {resume_command()}")
        raise


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


def answer_print(journal: files.Journal) -> None:
    """Prints the outcome of until=, then the folder, and the table as `uncork table` prints it."""
    from suite.decide.precision import precision_measure
    from suite.observe.frame import matrix_load
    from suite.present.table import table_document
    from suite.present.tables import document_text
    matrix = matrix_load(journal.folder)
    if precision := precision_measure(matrix):
        say(f"round {journal.plan.session.last} was the last: until={precision.text}")
    print(path_text(journal.folder), flush=True)
    document = table_document(matrix, matrix.result.scenario.table, ends_a_run=True)
    print(document_text(document), end="", flush=True)


def cells_require(plan: Plan, lost: Mapping[str, str]) -> None:
    """Failure if no cell was or can be measured. lost: why a cell was not measured."""
    reasons = {cell.name: f"unsupported: {cell.unsupported}" for cell in plan.cells
               if cell.unsupported is not None} | dict(lost)
    if len(reasons) < len(plan.cells):
        return
    (reason, count), *others = Counter(reasons.values()).most_common()
    more = f"; {counted_text(len(others), 'other reason')}" if others else ""
    begins = "nothing was measured" if lost else "nothing can be measured"
    raise Failure(f"{begins}: {count} of {counted_text(len(plan.cells), 'cell')} {reason}{more}")


def outcome_check(journal: files.Journal, keep_going: bool) -> None:
    """Failure if no cell was measured, or if runs of this session failed; with keep_going that is a
    line on standard error."""
    runs = {key: outcome for key, outcome in journal.done.items()
            if key[0] == journal.plan.session.name}
    counted = grouped((cell, (status, reason or "no reason given"))
                      for (_, number, cell, _), (status, reason) in runs.items()
                      if number != WARMUP_ROUND)
    cells_require(journal.plan, {cell: ": ".join(found[-1]) for cell, found in counted.items()
                                 if "ok" not in dict(found)})
    failures = failures_text(runs)
    if failures and not keep_going:
        raise Failure(failures)
    say(failures)


def result_given(options: argparse.Namespace) -> tuple[Path, Plan] | None:
    """The result to resume, and its plan; None if a new result is asked for. A word that names a
    result is taken for -o; with --more it must name one."""
    name = options.words[0] if len(options.words) == 1 and not options.output else "="
    if "=" not in name and not name.endswith(".toml") and name not in client.scenario_names():
        with contextlib.nullcontext() if options.more else contextlib.suppress(UsageError):
            folder = files.result_find(Path(name))
            if options.more or files.plan_read(folder):
                options.output, options.words = folder, []
    if not options.output or (options.words and not options.more):
        return None
    folder = Path(options.output)
    folder = files.result_find(folder) if options.more else folder
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


def uncork_run(options: argparse.Namespace) -> None:
    if options.output == "-":
        raise UsageError("-o -: a result is a folder: give its name")
    if options.fail_if and not options.dry_run:
        raise UsageError("--fail-if needs -n, and prints how many rounds a gate needs; "
                         "uncork compare RESULT --fail-if applies the gate")
    given = result_given(options)
    stored = None if options.words or options.quick else given  # its scenario is taken
    scenario, path, words = scenario_choose(
        [str(stored[0] / files.SCENARIO)] if stored else options.words)
    server_options = client.server_options_choose(options.psk, options.insecure)
    local = replace(client.client_open(), server_options=server_options)
    signals_handle()
    with Targets(local) as targets:
        planned = plan_make(targets, scenario, path, words, options.quick)
        plan, notes = planned.plan, [*planned.notes]
        client.server_options_check(server_options, (cell.name.split() for cell in plan.cells))
        if stored:
            plan = replace(plan, quick=stored[1].quick)
        elif path is not None:
            answers_check(local, planned.vocabulary.words, scenario, path)
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
        cells_require(plan, {})
        if plan.timer == TIMER:
            version_read()
        folder = given[0] if given else Path(options.output) if options.output else None
        with journal_begin(options, folder, planned, targets) as journal:
            journal_run(targets, journal)
            answer_print(journal)
            outcome_check(journal, options.keep_going)


def kernels_changed(folder: Path, hosts: Mapping[str, Facts]) -> str:
    """A note if a target has a kernel that no session of a result had. hosts: of a new session."""
    try:
        stored = files.machines_read(folder)
    except (OSError, Damaged):
        return ""
    before, now = ({f"{facts['kernel']} {facts.get(TARGET, '')}".strip()
                    for facts in machines.values() if "kernel" in facts}
                   for machines in (stored, hosts))
    others = now - before
    return (f"another kernel: {', '.join(sorted(others))}, in sessions before "
            f"{', '.join(sorted(before))}; a table joins their rounds, -o DIR keeps them apart"
            if before and others else "")


@contextlib.contextmanager
def journal_begin(options: argparse.Namespace, folder: Path | None, planned: Planned,
                  targets: Targets) -> Iterator[files.Journal]:
    """The result to write, with its first files; prints what runs where. If no space is left for a
    file of the result, a note says how to resume."""
    hosts, mine = hosts_collect(targets, planned.plan)
    programs = Programs(builds_read(targets.local, planned.plan), targets.identities(),
                        planned.vocabulary.document.get("homepage"), programs_used(
                            cell.words for cell in planned.plan.runnable
                            if starts_from_here(cell.words)))
    start = Start(replace(planned.plan, programs=programs), {"": mine, **targets.boot_ids()},
                  options.more, intervals_are_wide, runs_stored)
    try:
        with contextlib.closing(journal_open(start, folder, options.new)) as journal:
            changed = kernels_changed(journal.folder, hosts) if options.more else ""
            seed, scenario = {"seed": str(journal.plan.seed)}, planned.scenario
            journal.begin(replace(scenario, run=scenario.run | seed), hosts)
            header_say(planned, journal)
            disturbed = disturbed_text(hosts[mine]["doctor"])
            say(f"doctor: {disturbed}: see uncork doctor" if disturbed else "")
            say(changed)
            yield journal
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            error.add_note("what is stored is kept; when there is space, to go on: "
                           + resume_command())
        raise
