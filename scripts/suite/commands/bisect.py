# SPDX-License-Identifier: MIT
"""`uncork bisect GOOD BAD --fail-if GATE [WORD...]`: git bisects, and gates decide.

Revisions are built in worktrees of a temporary folder; the user's tree is not touched.
"""

import argparse
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from suite.base import ROOT
from suite.base.client import client_open, complaint_text
from suite.base.errors import Failure, UncorkError, UsageError
from suite.base.process import SUITE, process_run
from suite.base.runner_words import BUILD
from suite.base.text import say
from suite.base.words import words_split
from suite.decide.comparison.build import cells_alone, compare_pair
from suite.decide.gate import STATUS, Gate, gates_decide, gates_parse
from suite.measure.plan import plan_make
from suite.measure.resume import folder_name
from suite.measure.runner import signals_handle
from suite.measure.words import scenario_choose
from suite.observe.frame import matrix_load
from suite.observe.load import stored_runs
from suite.places.targets import Targets
from suite.present.comparison.gate import figure_texts, row_text
from suite.result.files import RECORDS, file_write, results_folder
from suite.result.record import failures_text

TREE = "{tree}"  # in a word: the worktree of the revision
UNSUPPORTED = "unsupported"  # a gate without a figure: a cell cannot run, although GOOD can
OWN_BUILD = ('cmake -S . -B "$UNCORK_BUILD" -DCMAKE_BUILD_TYPE=Release && cmake --build '
             '"$UNCORK_BUILD" --target uncork-client uncork-server -j "$(nproc)"')
GOOD, BAD, SKIP = "good", "bad", "skip"  # as `git bisect` calls them
OF_GATES = {0: GOOD, 5: BAD}  # by the exit status of gates; others decide nothing
FOUND = re.compile("^# (first bad commit|only skipped commits left)", re.MULTILINE)
Judged = tuple[str, str]  # GOOD, BAD or SKIP; the reason


class Bisection(NamedTuple):
    """What a step needs. folder: of the worktrees `step` and `good` and their builds. results: the
    folder of all results. words: of each run. steps: a line for each step, printed at the end."""
    folder: Path
    results: Path
    words: Sequence[str]
    gates: Sequence[Gate]
    build: str
    steps: list[str]

    @property
    def trees(self) -> Sequence[str]:
        """The worktrees; `good` is needed if a gate limits a change."""
        return ("good", "step") if any(gate.relative for gate in self.gates) else ("step",)

    def word(self, name: str) -> str:
        """The word that runs the revision of a worktree: the word with {tree}, else `build=`."""
        tree, build = self.folder / name, self.folder / f"{name}-build"
        named = [word for word in self.words if TREE in word]
        return named[0].replace(TREE, str(tree)) if named else (
            f"{BUILD}={build if any(build.iterdir()) else tree}")


def git(tree: Path, *arguments: str, statuses: Sequence[int] = (0,)) -> str:
    """The output of git; Failure if it ends with another status than these."""
    done = process_run(["git", "-C", str(tree), *arguments])
    if done.returncode not in statuses:
        raise Failure(f"git {arguments[0]}: {complaint_text(done.stderr) or done.returncode}")
    return done.stdout.strip()


def build_make(work: Bisection, name: str, log: Path) -> str | None:
    """Builds a worktree; returns the reason if that fails."""
    build = work.folder / f"{name}-build"
    build.mkdir(exist_ok=True)
    done = process_run(["env", "-C", str(work.folder / name), f"UNCORK_BUILD={build}", "sh", "-c",
                        work.build])
    file_write(log, done.stdout + done.stderr)
    return f"it does not build: {log}" if done.returncode else None


def revision_judge(work: Bisection, name: str) -> Judged:
    """Builds and runs the revision in the worktree `step`. Gates on counts need two rounds, and ten
    for an interval if the two differ."""
    if why := build_make(work, "step", work.results / f"{name}.log"):
        return SKIP, why
    given = any(word.startswith("rounds=") for word in work.words)
    if given or not all(gate.metric.whole and not gate.relative for gate in work.gates):
        return run_judge(work, work.results / name)
    judged = run_judge(work, work.results / name, "rounds=2")
    return judged if judged[0] != SKIP or not work.gates else (
        run_judge(work, work.results / f"{name}-again", "rounds=10"))


def run_judge(work: Bisection, folder: Path, *rounds: str) -> Judged:
    """Plans the run, for a cell that is unsupported, and runs it if gates are to judge it."""
    sides = [*map(work.word, work.trees)]
    words = [*(word for word in work.words if TREE not in word), *rounds]
    words.append(",".join([sides[0], *(side.partition("=")[2] for side in sides[1:])]))
    try:
        with Targets(client_open()) as targets:
            cells = plan_make(targets, *scenario_choose(words)).plan.cells
    except UncorkError as error:
        return SKIP, str(error)
    for cell in cells:
        if cell.unsupported is not None:
            return BAD, f"{UNSUPPORTED}: {cell.unsupported}"
    if not work.gates:
        return GOOD, "supported"
    done = process_run([*SUITE, "run", *words, "-o", str(folder)])
    if done.returncode >= 128:
        raise Failure(f"uncork run: {complaint_text(done.stderr)}")
    if not (folder / RECORDS).exists():
        return SKIP, complaint_text(done.stderr)
    return result_judge(folder, work.gates, sides)


def result_judge(folder: Path, gates: Sequence[Gate], sides: Sequence[str]) -> Judged:
    """Judges a result by its gates, which a failed run leaves undecided. The reason is the row with
    the worst verdict."""
    matrix, metrics = matrix_load(folder), tuple({gate.metric for gate in gates})
    for cell in matrix.cells.values():
        if cell.status == UNSUPPORTED:
            return BAD, f"{UNSUPPORTED}: {cell.reasons[0]}"
    if failures := failures_text(stored_runs(folder)[0]):
        return SKIP, failures
    try:
        compared = cells_alone(matrix, {}, metrics) if len(sides) < 2 else compare_pair(
            [matrix], words_split(sides[:1]), words_split(sides[1:]), metrics)
    except UsageError as error:
        return SKIP, str(error)
    decided = gates_decide([compared], gates)
    if not decided.rows:
        return SKIP, "no cell has the metric"
    row = max(decided.rows, key=lambda one: STATUS[one.verdict])
    return OF_GATES.get(decided.status, SKIP), (
        f"{row_text(row)}: {', '.join(figure_texts(row))}, beside {row.gate.limit_text}: "
        f"{row.why or row.verdict}")


def step_run(work: Bisection) -> Judged:
    """Judges the revision in the worktree `step`, and notes and reports it."""
    commit, subject = git(work.folder / "step", "log", "-1", "--format=%h %s").split(" ", 1)
    verdict, why = revision_judge(work, f"{len(work.steps) + 1:02}-{commit}")
    work.steps.append(f"{commit}  {verdict:4}  {subject}: {why}")
    file_write(work.results / "steps.txt", "".join(f"{line}\n" for line in work.steps))
    say(f"{commit} {verdict}: {why}")
    return verdict, why


def bisect_run(work: Bisection, ends: Mapping[str, str]) -> str:
    """Judges both ends, GOOD and BAD with their commits, then bisects and returns git's log of
    that. Failure unless the gates pass at GOOD and fail at BAD."""
    step = work.folder / "step"
    for wanted, commit in ends.items():
        git(step, "checkout", "--quiet", "--detach", commit)
        verdict, why = step_run(work)
        if verdict != wanted:
            verb = {GOOD: "pass", BAD: "fail", SKIP: "decide nothing"}[verdict]
            raise Failure(f"the gates {verb} at {wanted.upper()}: {why}")
    git(step, "bisect", "start", ends[BAD], ends[GOOD])
    while not FOUND.search(log := git(step, "bisect", "log")):
        try:
            verdict, _ = step_run(work)
        except UncorkError as error:
            say(str(error))
            break
        git(step, "bisect", verdict, statuses=(0, 2))  # 2: only skipped commits are left
    return log


def uncork_bisect(options: argparse.Namespace) -> int:
    signals_handle()
    gates = gates_parse([text for text in options.fail_if if text != UNSUPPORTED])
    named = " ".join(options.words).count(TREE)
    if named > 1:
        raise UsageError(f"{TREE} may stand once, in one word: a step runs one tree")
    if not options.build and (named or options.tree):
        raise UsageError("--build is missing: the command that builds a revision of that tree")
    client_open()
    place = Path(options.tree or ROOT)
    try:
        tree = Path(git(place, "rev-parse", "--show-toplevel"))
        good, bad = (git(tree, "rev-parse", "--verify", "--quiet", f"{one}^{{commit}}")
                     for one in (options.good, options.bad))
    except Failure:
        raise UsageError(f'{place} is no git repository, or has no revision "{options.good}" or '
                         f'"{options.bad}": --tree names the repository') from None
    if good == bad or git(tree, "merge-base", good, bad) != good:
        raise UsageError(f"{options.bad} does not come after {options.good}")
    results = Path(options.output or folder_name(results_folder(), "bisect")).absolute()
    results.mkdir(parents=True)
    work = Bisection(Path(tempfile.mkdtemp(prefix="uncork-bisect-")), results, options.words, gates,
                     options.build or OWN_BUILD, [])
    try:
        for name in work.trees:
            git(tree, "worktree", "add", "--quiet", "--detach", str(work.folder / name), good)
        if "good" in work.trees and (why := build_make(work, "good", results / "good.log")):
            raise Failure(f"at GOOD: {why}")
        log = bisect_run(work, {GOOD: good, BAD: bad})
    finally:
        shutil.rmtree(work.folder, ignore_errors=True)
        git(tree, "worktree", "prune")
    print(*work.steps, f"results: {results}\n", log, sep="\n")  # whose last lines name the commit
    return 0 if "\n# first bad commit: " in log else 3
