# SPDX-License-Identifier: MIT
"""Comparisons that cannot mislead: boots as replicates, no times of emulated cells, and machines
that differ."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import targets_make  # that answers has made known

from answers import NODELAY, emulated, golden_check, matrix_of, refused, uncork
from conftest import ROOT
from mails import pasted
from rendered import compared_text
from suite import stats
from suite.base.errors import UsageError
from suite.base.runner_words import EXACT_ONLY
from suite.contrast.contrast import Unit, Verdict
from suite.decide.claims import claim_decide, claims_decide
from suite.decide.comparison.build import compare_baseline, compare_pair
from suite.decide.comparison.differences import refusals_check
from suite.decide.comparison.model import Comparison
from suite.decide.comparison.sides import metrics_choose, sides_chosen
from suite.decide.optimum import optima_build
from suite.decide.precision import precision_measure
from suite.decide.summary import gain_build, summary_build
from suite.observe.frame import Cell, Matrix, matrix_build, rounds_common
from suite.observe.machines import TIMES_INVALID, cells_emulated, machines_group
from suite.observe.metrics import METRICS
from suite.observe.results import result_load
from suite.present.claims import outcome_texts
from suite.present.heading import machines_text
from suite.present.pictures.canvas import Canvas
from suite.present.pictures.parts import page_make
from suite.present.pictures.plot import drawings_make
from suite.present.report.page import machines_elements
from suite.scenario.scenario import PICTURES, Claim, Picture

TIME, SEGMENTS, SENDS = (METRICS[name]
                         for name in ("time_per_message", "segments_per_message",
                                      "sends_per_message"))
OLD, NEW = {"target": "vng:6.1"}, {"target": "vng:6.18"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """Folders by name: systems (gVisor beside this machine), kernels (booted), emulated (and this
    machine)."""
    folder = tmp_path_factory.mktemp("results")
    made = (targets_make.systems_write(folder), targets_make.kernels_write(folder),
            targets_make.emulated_write(folder))
    return {path.name: path for path in made}


@pytest.fixture(scope="module")
def made(folders) -> dict[str, Matrix]:
    """The same as matrices."""
    return {name: matrix_of(folder) for name, folder in folders.items()}


def cell_of(matrix: Matrix, **words: str) -> Cell:
    """The one cell with these words; target last."""
    (cell,) = (cell for cell in matrix.cells.values() if words.items() <= cell.words.items())
    return cell


def changes_of(comparison: Comparison, metric=TIME):
    """The changes of a metric by the values of the row."""
    return {tuple(row.axes.values()): row.changes.get(metric.name) for row in comparison.rows}


def unpaired(matrix: Matrix, write: str, metric=TIME) -> stats.Estimate:
    """New / old over all boots of a strategy."""
    sides = [matrix.series(cell_of(matrix, write=write, target=target).name, metric.name).values
             for target in ("vng:6.18", "vng:6.1")]
    return stats.ratio_make(*sides, False).estimate()


# ---- which cells share rounds ----

@pytest.mark.parametrize("one, two, common", [
    ("local", "local", True), ("local", "gvisor", True), ("local", "ssh:h1+ssh:h2", True),
    ("vng:a", "vng:a", True),
    ("vng:a", "vng:b", False), ("vng:a", "local", False), ("gvisor", "vng:a", False)])
def test_rounds_are_shared_unless_one_of_two_targets_is_booted(made, one, two, common):
    cell = next(iter(made["systems"].cells.values()))
    sides = [replace(cell, words={**cell.words, "target": target}) for target in (one, two)]
    assert rounds_common(sides) is rounds_common(reversed(sides)) is common


def test_of_two_kernels_a_boot_is_the_unit_and_within_one_a_round(made):
    between = compare_pair([made["kernels"]], OLD, NEW, [TIME])
    assert between.unit is Unit.BOOT and not between.paired and between.within
    change = changes_of(between)[("nodelay",)]
    assert change.ratio == unpaired(made["kernels"], "nodelay") and change.ratio.pairs == 8
    within = compare_pair([made["kernels"]], {"write": "nodelay"}, {"write": "cork"}, [TIME])
    assert within.unit is Unit.ROUND and set(changes_of(within)) == {("vng:6.1",), ("vng:6.18",)}
    narrow, wide = (changes_of(one)[key].ratio.interval
                    for one, key in ((within, ("vng:6.1",)), (between, ("cork",))))
    # what a boot brings with it is in one of them only
    assert narrow.high / narrow.low < 1.01 < wide.high / wide.low


def test_systems_of_the_same_rounds_are_paired(made):
    comparison = compare_pair([made["systems"]], {"target": "local"}, {"target": "gvisor"}, [TIME])
    assert comparison.unit is Unit.ROUND and changes_of(comparison)[
        ("cork",)].ratio.interval.contains(1.6)


def test_the_table_gains_and_the_best_value_take_the_same_ratio_as_a_comparison(made):
    matrix = made["kernels"]
    new, old = (cell_of(matrix, write="cork", target=target) for target in ("vng:6.18", "vng:6.1"))
    wanted = unpaired(matrix, "cork")
    assert summary_build(matrix, (TIME.name,)).figures[new.name][TIME.name].ratio == wanted
    gain = gain_build(matrix, new, TIME)
    assert gain.ratio == wanted and gain.worst is gain.best is None
    again = gain_build(matrix, old, TIME)
    assert again.worst is not None and abs(again.ratio.value - 1) < 0.01
    optimum = next(one for one in optima_build(matrix, "target", TIME)
                   if one.place["write"] == "cork")
    assert optimum.best == "vng:6.18" and optimum.marks["vng:6.1"] == ""  # worse


def test_three_boots_a_side_say_nothing_and_four_do(tmp_path):
    for boots, known in ((3, False), (4, True)):
        matrix = matrix_of(targets_make.kernels_write(tmp_path / str(boots), boots))
        change = changes_of(compare_pair([matrix], OLD, NEW, [TIME]))[("cork",)]
        assert (change.ratio.interval is not None) is (
            change.verdict is not Verdict.UNKNOWN) is known


@pytest.mark.parametrize("that, outcome, says", [
    (
        "time_per_message(write=cork target=vng:6.1) / time_per_message(write=cork "
        "target=vng:6.18) > 1.05", "ok",
     "boots a side"),
    (
        "time_per_message(write=cork target=vng:6.18) < 0.5 * time_per_message(write=cork "
        "target=vng:6.1)", "not ok",
     "boots"),
    (
        "1.13 * time_per_message(write=cork target=vng:6.18) == time_per_message(write=cork "
        "target=vng:6.1)",
     "undecided", "left / right"),
    (
        "time_per_message(write=nodelay target=vng:6.1) / time_per_message(write=cork "
        "target=vng:6.1) / "
     "(time_per_message(write=nodelay target=vng:6.18) / time_per_message(write=cork "
     "target=vng:6.18)) < 2", "ok",
     "8 boots"),
    (
        "time_per_message(write=cork target=vng:6.1) - time_per_message(write=cork "
        "target=vng:6.18) > 0", "undecided",
     "not add or subtract them"),
    (
        "segments_per_message(write=nodelay target=vng:6.1) - segments_per_message(write=cork "
        "target=vng:6.18) == 14",
     "ok", "exactly 14 against 14"),
    ("time_per_message(write=cork target=vng:6.18) <= time_per_message(write=cork target=best)",
     "ok", "left / right"),
])
def test_claims_about_two_kernels_are_decided_on_all_boots(made, that, outcome, says):
    verdict = claim_decide(made["kernels"], Claim("a claim", that))
    texts = outcome_texts(verdict)
    assert (verdict.outcome, says in texts[0]) == (outcome, True), texts


# ---- golden texts ----

@pytest.mark.parametrize("name", ["systems", "kernels", "emulated"])
def test_tables_of_targets(folders, name):
    golden_check(f"targets/table-{name}.txt", uncork("table", folders[name]).stdout)


@pytest.mark.parametrize("name, sides", [
    ("systems", ("target=local", "target=gvisor")), ("kernels", ()),
    ("emulated", ("target=vng:6.1", "target=vng:6.18"))])
def test_comparisons_of_targets(folders, name, sides):
    done = uncork("compare", folders[name], *sides, COLUMNS="72")
    assert max(map(len, done.stdout.splitlines())) <= 72
    golden_check(f"targets/compare-{name}-72.txt", done.stdout)


@pytest.mark.parametrize("name", ["systems", "kernels", "emulated"])
def test_blocks_of_targets_are_verified(folders, name, tmp_path):
    sides = {"systems": ("target=local", "target=gvisor"), "kernels": (),
             "emulated": ("target=vng:6.1", "target=vng:6.18")}
    done = uncork("paste", folders[name], *sides[name])
    golden_check(f"targets/paste-{name}.txt", done.stdout)
    (tmp_path / "mail").write_text(done.stdout)
    assert uncork("verify", tmp_path / "mail", folders[name]).returncode == 0


def test_claims_about_times_that_were_emulated_are_undecided_and_those_about_counts_are_not(
        folders):
    done = uncork("check", folders["emulated"])
    assert done.returncode == 3
    golden_check("targets/check-emulated.tap", done.stdout)
    assert uncork("check", folders["kernels"]).returncode == 0


def test_a_claim_that_names_no_target_is_held_against_each(made):
    claims = tuple(Claim("it holds", f"{metric.name}(write=writev) == 1")
                   for metric in (SENDS, SEGMENTS))
    scenario = replace(made["systems"].result.scenario, claims=claims)
    verdicts = claims_decide(replace(made["systems"],
                                     result=replace(made["systems"].result, scenario=scenario)))
    assert [verdict.says for verdict in verdicts] == [f"it holds (target={target})"
                                                            for target in
                                                            ("local", "gvisor", "local", "gvisor")]
    assert [verdict.outcome for verdict in verdicts] == ["ok", "ok", "ok", "undecided"]
    assert "segments_per_message is not known here" in verdicts[-1].reasons[0]


def test_gains_and_best_values_of_targets(folders):
    golden_check("targets/table-gain-kernels.txt",
                 uncork("table", folders["kernels"], "gain=time_per_message").stdout)
    golden_check("targets/table-best-emulated.txt",
                 uncork("table", folders["emulated"], "best=write").stdout)


# ---- emulation ----

def said_of(folder: Path) -> dict[str, str]:
    """Everything that is made of a result, by what makes it."""
    local, old, new = "target=local", "target=vng:6.1", "target=vng:6.18"
    commands = [
        ("table", folder), ("table", folder, "--csv"), ("table", folder, "--json"),
        ("table", folder, "--md"),
        ("table", folder,
         "columns=latency_p99,cpu_per_message,messages_per_second,user,requests_late"),
        ("table", folder, "gain=time_per_message"), ("table", folder, "best=target"),
        ("compare", folder),
        ("compare", folder, old, new), ("compare", folder, local, new, "--json"),
        ("compare", folder, old, new, "--csv"),
        ("compare", folder, "write=nodelay", "write=cork", "--benchstat"),
        ("compare", folder, local, old, "--hgrm"),
        ("compare", folder, old, new, "--hyperfine"), ("paste", folder),
        ("paste", folder, old, new),
        ("check", folder), ("show", folder, "write=cork", new),
        ("export", folder, "-o", folder / "hgrm"),
        ("export", folder, old, "-o", folder / "hgrm")]
    said = {" ".join(map(str, words)).replace(str(folder), ""): uncork(*words)
            for words in commands}
    # these ends are slower by what they wait, not by what they compute
    texts = {name: re.sub(r".*stall_per_message.*\n", "", (done.stdout + done.stderr).replace(
        str(folder.parent), "")) for name, done in said.items()}
    matrix = matrix_of(folder)
    pictures = [Picture(kind, None, None, None, kind) for kind in (
        "bars", "heatmap", "forest", "order", "counts", "percentiles", "ecdf")]
    return texts | {drawing.name: drawing.data + drawing.script
                    for drawing in drawings_make(matrix, pictures)}


def test_how_long_emulated_runs_took_changes_nothing_that_is_shown(folders, tmp_path, monkeypatch):
    as_made = said_of(folders["emulated"])
    slower = {name: replace(system, slow=7 * system.slow) if name in (*OLD.values(), *NEW.values())
              else system
              for name, system in targets_make.EMULATED.items()}
    monkeypatch.setattr(targets_make, "EMULATED", slower)
    folder = targets_make.emulated_write(tmp_path)
    assert (folder / "records.jsonl").read_text() != (folders["emulated"] /
                                                      "records.jsonl").read_text()
    assert said_of(folder) == as_made
    assert {"bars", "forest"} < as_made.keys() and all(as_made.values())


def test_every_output_about_an_emulated_side_has_one_sentence_of_at_most_15_words(folders):
    folder, old, new = folders["emulated"], "target=vng:6.1", "target=vng:6.18"
    assert len(TIMES_INVALID.split()) <= 15
    for words in (("table", folder), ("table", folder, "--md"), ("paste", folder, old, new),
                  ("show", folder, "write=cork", new), ("check", folder),
                  ("compare", folder, old, new),
                  ("compare", folder, old, new, "--hyperfine"),
                  ("export", folder, old, "-o", folder / "hgrm")):
        done = uncork(*words, COLUMNS="300")
        said = " ".join((done.stdout + done.stderr).split())
        assert said.count(EXACT_ONLY) and "functional only" not in said, words
    texts = [page.read_text() for page in (ROOT / "docs").glob("*.md")]
    assert sum(EXACT_ONLY in " ".join(text.split()) for text in texts) >= 3
    assert not any("functional only" in text for text in texts)


@pytest.mark.parametrize("kind, shows", [pair for pair in PICTURES.items() if pair[1]])
def test_a_picture_of_times_that_are_all_emulated_is_left_out_and_says_why(kind, shows, made):
    slow, left_out = emulated(matrix_of(NODELAY)), []
    timed = Picture(kind, TIME.name if shows == "metric" else None, None, None, None)
    scenario = replace(slow.result.scenario, pictures=(
        timed, Picture("bars", SEGMENTS.name, None, None, None),
        Picture("counts", None, None, None, None)))
    slow = replace(slow, result=replace(slow.result, scenario=scenario))
    drawn = [drawing.name for drawing in drawings_make(slow, refused=left_out.append)]
    assert drawn[0] == "segments_per_message-bars" and len(drawn) > 1
    assert left_out == [f"left out: picture: {kind}: {TIMES_INVALID}"]
    assert drawings_make(made["emulated"], [Picture("bars", TIME.name, None, None, None)])


def test_the_times_of_this_machine_beside_emulated_ones_are_shown(made):
    comparison = compare_pair([made["emulated"]], {"write": "nodelay"}, {"write": "cork"}, [TIME])
    changes = changes_of(comparison)
    assert changes[("local",)].verdict is Verdict.CHANGED
    assert changes[("vng:6.1",)] is None and changes[("vng:6.18",)] is None


def test_times_across_emulation_are_refused_and_counts_are_not(folders, made):
    sides = folders["emulated"], "target=local", "target=vng:6.18"
    assert f"time_per_message: {TIMES_INVALID}" in refused(
        "compare", *sides, "columns=time_per_message")
    assert TIMES_INVALID in refused("compare", *sides, "--force", "columns=time_per_message")
    comparison = compare_pair([made["emulated"]], {"target": "local"}, NEW, [TIME, SEGMENTS])
    assert comparison.metrics == (SEGMENTS,) and comparison.notes[0] == TIMES_INVALID


def test_a_booted_kernel_of_which_nothing_is_known_is_taken_for_emulated(folders):
    for name, hidden in (("kernels", {"perhaps emulated"}), ("systems", set())):
        result = replace(result_load(folders[name]), machines={})
        assert set(cells_emulated(result).values()) == hidden
        matrix = matrix_build(result)
        timed = any(len(matrix.series(cell, TIME.name)) for cell in matrix.cells)
        assert timed is not bool(hidden)


@pytest.mark.parametrize("name, timed", [
    ("time_per_message", True), ("bandwidth", True), ("messages_per_second", True),
    ("latency_max", True),
    ("user", True), ("requests_late", True), ("handshakes_per_second", True),
    ("segments_per_message", False),
    ("copied_share", False), ("tls_bytes_per_reply", False), ("memory_per_connection", False),
    ("syscalls_per_message", False)])
def test_a_metric_knows_whether_it_tells_how_fast_something_was(name, timed):
    assert METRICS[name].timed is timed


def test_until_of_times_that_nobody_shows_is_not_called_reached(made):
    cells = {name: cell for name, cell in made["emulated"].cells.items() if cell.target != "local"}
    result = made["emulated"].result
    emulated = replace(made["emulated"], cells=cells,
                       result=replace(result, plan=replace(result.plan, until="1%")))
    assert precision_measure(emulated).text == (
        "1% of time_per_message: no cell has it, so no round was added")


# ---- machines ----

def test_each_machine_is_told_once_with_its_target(made):
    assert machines_text(made["kernels"]) == (
        "vng:6.1: Invented CPU @ 3.00GHz, 2 CPUs, Linux 6.1.0-test, kvm; "
        "vng:6.18: Invented CPU @ 3.00GHz, 2 CPUs, Linux 6.18.5-test, kvm")
    assert machines_text(made["systems"]) == (
        "local: Invented CPU @ 3.00GHz, 2 CPUs, Linux 6.18.0-test, hypervisor; "
        "gvisor: Invented CPU @ 3.00GHz, 2 CPUs, Linux 4.4.0, gvisor")


def test_the_small_print_of_a_picture_names_every_machine_in_several_lines(made):
    matrix = made["systems"]
    def told(matrix):
        return page_make(matrix, Picture("bars"), "", {}, [*matrix.cells.values()]).note("medians")
    lines = Canvas().titles(100, 0, "", told(matrix), ())["small_print"]
    assert len(lines) == 2 and " ".join(lines) == told(matrix)
    assert told(matrix).endswith("gvisor: Invented CPU @ 3.00GHz, 2 CPUs, Linux 4.4.0, gvisor")
    alone = replace(matrix, cells={name: cell for name, cell in matrix.cells.items()
                                   if cell.target == "gvisor"})
    assert "gvisor: Invented CPU" in told(alone)


def test_a_machine_on_which_no_cell_ran_is_none_of_the_result(made):
    inside = {name: cell for name, cell in made["systems"].cells.items() if cell.target == "gvisor"}
    assert machines_text(replace(made["systems"], cells=inside)) == (
        "gvisor: Invented CPU @ 3.00GHz, 2 CPUs, Linux 4.4.0, gvisor")


def test_systems_side_by_side_are_compared_where_nobody_says_otherwise(made):
    matrix = made["systems"]
    assert sides_chosen([matrix], [], "compare") == [({"target": "local"}, {"target": "gvisor"})]
    assert sides_chosen([matrix], ["write=cork"],
                        "compare") == [({"write": "nodelay"}, {"write": "cork"})]
    pairs = replace(matrix, result=replace(matrix.result,
                                           plan=replace(matrix.result.plan, hosts="inventory.ini")))
    assert [base for base, _ in sides_chosen([pairs], [], "compare")] == [{"write": "nodelay"}] * 3


def test_boots_are_one_machine_where_all_their_facts_agree(made):
    first, *others = boots = list(made["kernels"].result.machines.values())
    # with the boot that warms up
    assert [len(machine.hosts) for machine in machines_group(boots)] == [9, 9]
    changed = replace(first, facts={**first.facts, "sysctl": {"net.ipv4.tcp_sack": "0"}})
    assert [len(machine.hosts) for machine in machines_group([changed, *others])] == [1, 8, 9]
    page = "".join("".join(part.itertext()) for part in machines_elements(boots))
    assert "6.18.5-test, kvm, 9 boots" in page and "machine 2" in page and "machine 3" not in page


def test_only_what_differs_between_the_machines_of_the_cells_is_told(made):
    comparison = compare_pair([made["kernels"]], OLD, NEW, [TIME])
    assert [(one.kind, one.name, one.declared)
            for one in comparison.differences] == [("kernel", "kernel", True)]
    assert compare_pair([made["kernels"]], {"write": "nodelay"}, {"write": "cork"},
                        [TIME]).differences == ()
    assert compare_pair([made["systems"]], {"write": "nodelay"}, {"write": "cork"},
                        [TIME]).differences == ()


def test_a_kind_of_fact_of_which_one_side_knows_nothing_is_one_difference(folders):
    result = result_load(folders["systems"])
    sysctls = {"sysctl": {f"net.ipv4.tcp_{number}": "1" for number in range(20)}}
    machines = {host: replace(machine,
                              facts={**machine.facts, **({} if machine.target else sysctls)})
                for host, machine in result.machines.items()}
    matrix = matrix_build(replace(result, machines=machines))
    comparison = compare_pair([matrix], {"target": "local"}, {"target": "gvisor"}, [TIME])
    assert [(one.name, one.base, one.new) for one in comparison.differences
            if one.kind == "sysctl"] == [
        ("", "20 known", "unknown")]


def test_of_two_systems_a_kind_with_many_differences_has_one_line(folders):
    result = result_load(folders["systems"])
    machines = {host: replace(machine, facts={**machine.facts, "sysctl": {
        f"net.ipv4.tcp_{number}": str(machine.target is not None) for number in range(20)}})
        for host, machine in result.machines.items()}
    matrix = matrix_build(replace(result, machines=machines))
    comparison = compare_pair([matrix], {"target": "local"}, {"target": "gvisor"}, [TIME])
    assert sum(one.kind == "sysctl" for one in comparison.differences) == 20
    lines = compared_text([comparison], 100)
    assert "sysctl net.ipv4.tcp_0 False -> True; sysctl" in lines
    assert "and 16 more\n" in lines and lines.count("tcp_") == 4


def lonely(matrix: Matrix, pairs: set[tuple[str, str]]) -> Matrix:
    """The result with these cells (strategy, target) only."""
    names = [name for name, cell in matrix.cells.items()
             if (cell.words["write"], cell.target) in pairs]
    result = matrix.result
    plan = replace(result.plan,
                   cells=tuple(cell for cell in result.plan.cells if cell.name in names))
    rows = [row for name in names for row in result.runs.rows_of_cells[name]]
    return matrix_build(replace(result, plan=plan, runs=result.runs.take(sorted(rows))))


def test_systems_that_nobody_declared_are_refused_and_marked_where_they_are_forced(made):
    matrix = lonely(made["systems"], {("nodelay", "local"), ("cork", "gvisor")})
    comparison = compare_pair([matrix], {"write": "nodelay"}, {"write": "cork"}, [TIME])
    with pytest.raises(UsageError,
                       match="virtualisation hypervisor -> gvisor; congestion cubic -> reno: a "
                             "ratio"):
        refusals_check(comparison, (), False, False)
    lines = compared_text([refusals_check(comparison, (), False, True)], 100)
    assert re.search(r"^forced +virtualisation hypervisor -> gvisor\n +congestion cubic -> reno$",
                     lines, re.MULTILINE)
    assert "forced across virtualisation hypervisor -> gvisor; congestion cubic -> reno" in lines
    with pytest.raises(UsageError, match="a ratio across this difference does not show"):
        pasted(matrix, "write=nodelay", "write=cork")


def test_the_word_target_declares_whatever_its_machines_differ_in_and_says_so(made):
    comparison = compare_pair([made["systems"]], {"target": "local"}, {"target": "gvisor"}, [TIME])
    assert refusals_check(comparison, (), True, False) is comparison
    assert {one.kind for one in comparison.differences} == {"virtualisation", "congestion",
                                                            "kernel"}
    lines = compared_text([comparison], 100)
    assert lines.index("target=local,gvisor compares whole systems") < lines.index(
        "Time per message")


def test_what_one_side_does_not_count_stands_on_the_other_without_a_change(made):
    comparison = compare_pair([made["systems"]], {"target": "local"}, {"target": "gvisor"},
                              [SEGMENTS])
    assert not any(row.changes for row in comparison.rows)
    lines = compared_text([comparison], 100)
    assert re.search(r"^nodelay +15\.00 +n/a \[1\] +- +-$", lines, re.MULTILINE)
    assert re.search(r"^\[1\] +no run of target=gvisor reports it$", lines, re.MULTILINE)


def test_where_nobody_asks_systems_are_compared_by_all_that_the_table_has(made):
    assert metrics_choose(made["systems"], None) == (TIME, SEGMENTS, SENDS)
    assert metrics_choose(made["systems"], "bandwidth") == (METRICS["bandwidth"],)
    assert [one.metrics for one in compare_baseline(made["kernels"],
                                                    metrics_choose(made["kernels"], None))] == [
        (TIME, SEGMENTS, SENDS)]


def test_a_page_has_the_machines_of_all_targets_and_no_times_of_emulated_ones(folders):
    done = uncork("report", folders["emulated"])
    assert done.returncode == 0, done.stderr
    page = Path(done.stdout.strip()).read_text()
    assert TIMES_INVALID in page and page.count(
        ">machine 3<") == 1 and ">machine 4<" not in page


def test_json_says_what_one_value_is(folders):
    done = uncork("compare", folders["kernels"], "--json")
    (comparison,) = json.loads(done.stdout)["comparisons"]
    assert (comparison["unit"], comparison["paired"]) == ("boot", False)
