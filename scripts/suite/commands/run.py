# SPDX-License-Identifier: MIT
"""`uncork run [SCENARIO] [word=value ...]`: measures a matrix and prints its table."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from suite.analyse.expressions import Reference, claim_parse, references_of
from suite.analyse.metrics import metric_find
from suite.base.by_hand import by_hand_lines, command_by_hand, timed_by_hand
from suite.base.client import (
    ROOT,
    Client,
    build_client,
    build_digest,
    builds_read,
    client_list,
    client_open,
    scenario_path,
)
from suite.base.errors import Failure, Interrupted, UsageError, nearest_hint
from suite.base.runner_words import ARRIVAL_SEED, DRAWN, LOCAL, THIS, build_of, target_of
from suite.base.server_options import reach_check, reach_choose
from suite.base.units import counted_text
from suite.commands import command_load
from suite.measure.document import Identity, session_schedule
from suite.measure.host_facts import hosts_collect, hosts_header
from suite.measure.journal import (
    PLAN,
    RECORDS,
    Journal,
    folder_find,
    folder_name,
    journal_close,
    journal_continue,
    journal_create,
    left_runs,
    session_total,
)
from suite.measure.plan import Plan, plan_make, plan_seeded, selector_expand
from suite.measure.progress import Pace, clock_text, round_text, watch_open
from suite.measure.quick import quick_limits
from suite.measure.runner import (
    matrix_batches,
    matrix_run,
    runs_seconds,
    signals_unify,
    timer_require,
)
from suite.measure.schedule import WARMUP_ROUND, Run, cell_in_round, round_order, seed_draw
from suite.places.targets import Targets, targets_open
from suite.result.files import plan_read
from suite.scenario.scenario import Scenario, scenario_load

HELP = "measure: a scenario by name, words, or both; words override the scenario's"
WORDS_NAME = "words"  # the name of a run without a scenario


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `uncork run`."""
    parser.add_argument("words", nargs="*", metavar="SCENARIO | WORD=VALUE",
                        help='a scenario (scenarios/NAME.toml or a path) and words; '
                             'not="a=1 b=2" leaves out cells, and may be repeated')
    parser.add_argument("-o", "--output", metavar="DIR", type=Path,
                        help="folder of the result (default: results/NAME-YYYYmmdd-HHMMSS, in the "
                             "repository or $UNCORK_RESULTS)")
    parser.add_argument("-n", "--dry-run", action="store_true",
                        help="only say what would run, how long, and as which commands")
    reach = parser.add_mutually_exclusive_group()
    reach.add_argument("--psk", metavar="FILE", type=Path,
                       help="speak by TLS to a server that server= names, with the first key of FILE")
    reach.add_argument("--insecure", action="store_true",
                       help="speak to it in the clear, although it is on another machine")
    parser.add_argument("--quick", action="store_true",
                        help=f"a first look: {quick_limits()}; never more than without it")
    parser.add_argument("--more", action="store_true",
                        help="add a session to a finished result: as many rounds again")


def scenario_choose(arguments: Sequence[str]) -> tuple[Scenario, Path | None, list[str]]:
    """(scenario, its file, words) from what stood in the shell."""
    names = [argument for argument in arguments if "=" not in argument]
    words = [argument for argument in arguments if "=" in argument]
    if len(names) > 1:
        raise UsageError(f'one scenario at a time, not "{names[0]}" and "{names[1]}"')
    if names:
        path = scenario_path(names[0])
        return scenario_load(path), path, words
    if not words:
        raise UsageError("nothing to run: give a scenario or words (uncork list shows both)")
    return Scenario(WORDS_NAME), None, words


def results_place() -> Path:
    """Where folders of results go without -o."""
    chosen = os.environ.get("UNCORK_RESULTS")
    return Path(chosen) if chosen else ROOT / "results"


def claims_references(scenario: Scenario) -> Iterator[Reference]:
    """Every metric that a claim names, with its words."""
    for claim in scenario.claims:
        comparison = claim_parse(claim.that)
        for side in (comparison.left, comparison.right):
            yield from references_of(side)


def selectors_of(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """(words, where they stand) of claims and published figures."""
    for figure in scenario.published:
        yield figure.words, f'[published] words "{figure.words}": '
    for reference in claims_references(scenario):
        yield reference.selector, f'[claim] that "{reference.text}": '


def axes_of(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """(axis, where it stands) of the table, pictures and claims."""
    for row in scenario.table.rows if scenario.table else ():
        yield row, "[table] rows"
    if scenario.table and scenario.table.best:
        yield scenario.table.best, "[table] best"
    for picture in scenario.pictures:
        if picture.x:
            yield picture.x, "[picture] x"
    for reference in claims_references(scenario):
        for key in reference.searched:
            yield key, f'[claim] that "{reference.text}"'


def answers_check(client: Client, scenario: Scenario, path: Path) -> None:
    """Refuses metrics, words and axes that the scenario's answers could not be made from."""
    for figure in scenario.published:
        metric_find(figure.metric, f"{path}: [published] metric")
    for column in scenario.table.columns if scenario.table else ():
        if column not in scenario.sweep:  # an axis spreads its values over columns
            metric_find(column, f"{path}: [table] columns")
    if scenario.table and scenario.table.gain:
        metric_find(scenario.table.gain, f"{path}: [table] gain")
    for picture in scenario.pictures:
        if picture.metric:
            metric_find(picture.metric, f"{path}: [picture] metric")
    words = client_list(client).words
    try:
        selectors, axes = dict(selectors_of(scenario)), tuple(axes_of(scenario))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    for axis, where in axes:
        if axis.split(".")[-1] not in words:
            raise UsageError(f"{path}: {where}: unknown word {axis}{nearest_hint(axis, words)}")
    for text, where in selectors.items():
        if text:
            selector_expand(client, text, f"{path}: {where}")


def estimate_text(plan: Plan, runs: Sequence[Run], times: int = 1) -> str:
    """How long the runs take so many times over: `about 0:38`, `at least 0:05` for fixed work or with until=."""
    seconds, unknown = runs_seconds(runs, plan.hosts is not None)
    return f"{'at least' if unknown or plan.until else 'about'} {clock_text(seconds * times)}"


def rounds_line(plan: Plan, runs: Sequence[Run]) -> str:
    """How many runs and rounds, and how long they take; runs: those of one round."""
    rounds, least = plan.rounds + 1, "at least " if plan.until else ""
    more = f" (until={plan.until}: at most {plan.rounds_most})" if plan.until else ""
    return (f"{counted_text(len(plan.runnable), 'cell')}, {counted_text(len(runs), 'run')} a round (baseline cells twice), "
            f"{least}{counted_text(plan.rounds, 'round')}{more} and a warm-up: "
            f"{least}{len(runs) * rounds} runs, {estimate_text(plan, runs, rounds)}")


def commands_by_hand(plan: Plan, targets: Targets) -> list[str]:
    """Every cell that can run as a command, those of one lab together, those elsewhere last."""
    client = targets.local
    folders = {value: str(build_client(client, value).folder) for value in builds_named(plan)}

    def by_client(given: Mapping[str, str]) -> str:
        return command_by_hand(given, client.reach, folders)

    cells = list(plan.runnable)
    if plan.seed is not None:
        cells = [cell_in_round(cell, plan.seed, 1) for cell in cells]
    here = [cell for cell in cells if target_of(cell.words) == LOCAL]
    baselines = {by_client(cell.given) for cell in here if cell.baseline}
    command = timed_by_hand if plan.timer == "hyperfine" else str
    lines = [command(line) + ("  # baseline" if line in baselines else "")
             for line in by_hand_lines([cell.given for cell in here], by_client)]
    for cell in cells:
        if cell not in here:
            *before, last = targets.of(cell.given).by_hand(cell.given)
            lines += [*before, last + ("  # baseline" if cell.baseline else "")]
    return lines


def plan_text(plan: Plan, targets: Targets) -> str:
    """What `-n` prints: how much, how long, then every cell as a command."""
    cells = plan.runnable
    runs = round_order(cells, 0, 1)
    lines = [f"# {plan.scenario.name}: {plan.scenario.question}".rstrip(": ")]
    lines.append(f"# {rounds_line(plan, runs)}")
    lines.append(f"# varies: {', '.join(plan.axes) or 'nothing'}; "
                 f"baseline: {plan.baseline or 'the only cell'}; "
                 f"seed: {'random' if plan.seed is None else plan.seed}")
    lines += [f"# {note}" for note in plan.notes]
    if any(cell.words.get(ARRIVAL_SEED) == DRAWN for cell in cells):
        shown = "the default" if plan.seed is None else "that of round 1"
        lines.append(f"# each round draws an {ARRIVAL_SEED} of its own; the commands have {shown}")
    lines += commands_by_hand(plan, targets)
    lines += [f"# unsupported: {cell.name}: {cell.unsupported}"
              for cell in plan.cells if cell.unsupported is not None]
    return "\n".join(lines)


def builds_named(plan: Plan) -> list[str]:
    """The values of the word build, but for the client's own."""
    return [value for value in dict.fromkeys(build_of(cell.words) for cell in plan.cells) if value != THIS]


def say(text: str) -> None:
    """One line for the person who waits."""
    print(f"uncork: {text}", file=sys.stderr, flush=True)


def journal_open(
    options: argparse.Namespace, plan: Plan, identity: Identity, hosts: dict[str, Any],
) -> Journal:
    """The folder to write: resumed, added to, or new (design, "The shell")."""
    results = results_place()
    folder = options.output
    if folder is None:
        folder = folder_find(results, plan, identity, options.more, say)
        if folder is None and options.more:
            raise UsageError(f"no finished result of this plan and build in {results} "
                             "to add a session to")
    if folder is not None:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is a file: -o takes a folder")
        if plan_read(folder / PLAN) is not None:
            return journal_continue(folder, plan, identity, hosts, options.more)
        if options.more:
            raise UsageError(f"{folder} has no result to add a session to")
    seeded = plan if plan.seed is not None else plan_seeded(plan, seed_draw())
    return journal_create(folder or folder_name(results, plan.scenario.name), seeded, identity,
                          hosts)


def header_say(plan: Plan, journal: Journal, machine: Sequence[str]) -> None:
    """The machine and what disturbs it, then the folder and what is to do in it."""
    runs = left_runs(journal)
    for line in (*machine, *plan.notes):
        say(line)
    total, folder = session_total(journal), path_text(journal.folder)
    least = "at least " if plan.until else ""
    if journal.resumed and not runs:
        say(f"resuming {folder}: all {total} runs are done, and until={plan.until} asks for more")
    elif journal.resumed:
        first, done = runs[0], total - len(runs)
        last = journal.document["sessions"][-1]["rounds"][1]
        say(f"resuming {folder} at {round_text(first.round, last)}, {first.cell.name} "
            f"({done} of {least}{total} runs done), {estimate_text(plan, runs)}")
    else:
        out = len(plan.cells) - len(plan.runnable)
        cells = counted_text(len(plan.runnable), "cell") + (f" and {out} unsupported" if out else "")
        say(f"{plan.scenario.name}: {cells}, {least}{total} runs, {estimate_text(plan, runs)}, "
            f"into {folder}")


def path_text(path: Path) -> str:
    """The path as short as it can be typed from here."""
    absolute = path.absolute()
    here = Path.cwd()
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute)


def journal_run(targets: Targets, plan: Plan, journal: Journal) -> None:
    """Runs what is left; Interrupted says how to go on."""
    runs = left_runs(journal)
    planned = list(session_schedule(journal.document, journal.document["sessions"][-1]))
    pace = Pace(len(runs), runs_seconds(planned, plan.hosts is not None)[0] / max(len(planned), 1), plan.until)
    last = journal.document["sessions"][-1]["rounds"][1]
    try:
        with watch_open(pace, plan.axes, last) as watch:
            matrix_run(targets, journal, matrix_batches(journal, watch), watch)
    except KeyboardInterrupt as signalled:
        total, left = session_total(journal), len(left_runs(journal))
        raise Interrupted(
            signalled, f": {total - left} of {total} runs are kept in "
            f"{path_text(journal.folder)}; to go on: uncork {shlex.join(sys.argv[1:])}") from None
    if plan.until:
        until_say(journal)


def until_say(journal: Journal) -> None:
    """Which cells missed what until= asked for, and how many rounds there are now."""
    from suite.analyse.frame import matrix_build  # pandas is slow to import
    from suite.analyse.precision import precision_measure, precision_text
    from suite.analyse.results import result_load
    rounds = journal.document["sessions"][-1]["rounds"][1]
    precision = precision_measure(matrix_build(result_load(journal.folder)))
    if precision:
        say(f"round {rounds} was the last: until={precision_text(precision)}")


def outcome_check(journal: Journal) -> None:
    """Says how many runs failed; Failure where no counted run of a cell is good."""
    failures: list[str] = []
    counted: dict[str, list[str | None]] = {}  # why the runs of a cell failed, None for one that did not
    runs = 0
    with open(journal.folder / RECORDS, "rb") as file:
        for record in map(json.loads, file):
            if record["run"].get("session") != journal.session:
                continue
            reason = str(record.get("reason", "no reason given")) if record["status"] == "failed" else None
            runs += 1
            failures += [reason] if reason else []
            if record["run"]["round"] != WARMUP_ROUND:
                counted.setdefault(record["run"]["cell"], []).append(reason)
    if failures:
        say(f"{len(failures)} of {runs} runs failed: {failures[-1]}")
    lost = {cell: reasons[-1] for cell, reasons in counted.items() if None not in reasons}
    if lost:
        cell, reason = next(iter(lost.items()))
        more = f" (and {counted_text(len(lost) - 1, 'more cell')})" if len(lost) > 1 else ""
        raise Failure(f"every run of {cell}{more} failed: {reason}")


def table_print(folder: Path) -> None:
    """The folder, and its table as `uncork table` prints it."""
    print(path_text(folder), flush=True)
    table = command_load("table")
    parser = argparse.ArgumentParser()
    table.arguments(parser)
    table.main(parser.parse_args([str(folder)]))


def main(options: argparse.Namespace) -> int:
    """Plans, runs or says what would run, and prints the table."""
    scenario, path, words = scenario_choose(options.words)
    reach = reach_choose(options.psk, options.insecure)
    client = replace(client_open(), reach=reach)
    signals_unify()
    with targets_open(client) as targets:
        plan = plan_make(targets, scenario, path, words, options.quick)
        reach_check(reach, (cell.name.split() for cell in plan.cells))
        if path is not None:
            answers_check(client, scenario, path)
        if options.dry_run:
            print(plan_text(plan, targets))
            return 0
        timer_require(plan.timer)
        journal = journal_begin(options, plan, targets)
        try:
            journal_run(targets, plan, journal)
            table_print(journal.folder)
            outcome_check(journal)
        finally:
            journal_close(journal)
    return 0


def journal_begin(options: argparse.Namespace, plan: Plan, targets: Targets) -> Journal:
    """The folder to write, with what machines and programs there are, which it says on standard error."""
    client = targets.local
    hosts, mine = hosts_collect(targets, plan)
    vocabulary = client_list(client)
    identity = Identity(vocabulary.version, vocabulary.revision, build_digest(client), mine,
                        builds_read(client, builds_named(plan)), targets.found(), targets.boots())
    journal = journal_open(options, plan, identity, hosts)
    header_say(plan, journal, hosts_header(hosts, mine))
    return journal
