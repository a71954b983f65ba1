# SPDX-License-Identifier: MIT
"""What a comparison is built from, and `uncork compare`: every format, byte for byte or read back,
and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sessions_make import recipe_sessions, sessions_write

from answers import NODELAY, golden_check, judged_as, matrix_of, refused, uncork
from rendered import compared_rendered, compared_text
from suite import stats
from suite.__main__ import main
from suite.base.errors import UsageError
from suite.base.runner_words import EXACT_ONLY
from suite.contrast.contrast import Contrast, Status, Verdict
from suite.contrast.verdicts import Family, Judged
from suite.decide.comparison.build import compare_baseline, compare_pair
from suite.observe.frame import Series
from suite.observe.machines import TIMES_INVALID
from suite.observe.measured import histogram_of
from suite.observe.metrics import METRICS
from suite.present.answers import opposed_text
from suite.present.comparison import benchstat, hgrm, hyperfine
from suite.present.comparison.hgrm import hgrm_text
from suite.present.judged import marked
from suite.present.mail.block import comparison_block

TIME, SEGMENTS = METRICS["time_per_message"], METRICS["segments_per_message"]
OLD, NEW = (1, 1.02, 1.01, 0.99), (0.93, 0.92, 0.94, 0.91)
BUILDS = {value: {"folder": f"/{value}", "digest": f"{value}-digest", "revision": f"v{value}",
                  "uncork": "0.1.0"}
          for value in ("old", "new")}
SYSCTL = {"sysctl": {"net.ipv4.tcp_rmem": "4096 131072 33554432"}}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Folders by name: old and new have four sessions, once has one, work does a set work, builds
    has two builds, wide has a third placement and no cork."""
    folder = tmp_path_factory.mktemp("results")
    work = recipe_sessions("work", NEW[:1])
    builds = {"build": ["old", "new"], "write": ["nodelay"]}
    wide = {"place": ["apart", "free"], "write": ["nodelay", "writev"]}
    paths = (sessions_write(recipe_sessions("old", OLD), folder, 4),
             sessions_write(recipe_sessions("new", NEW), folder, 4,
                            {"kernel": "6.19.0", "cpus_online": 4},
                            build="fff"),
             sessions_write(recipe_sessions("once", NEW[:1]), folder, 1,
                            {"kernel": "6.19.0", **SYSCTL}),
             sessions_write(recipe_sessions("slow", OLD[:1]), folder, 1, {"virtualisation": "tcg"}),
             sessions_write(replace(work, fixed={**work.fixed, "messages": "300"}), folder, 1),
             sessions_write(recipe_sessions("builds", NEW[:1], sweep=builds), folder, 1,
                            builds=BUILDS),
             sessions_write(recipe_sessions("wide", NEW[:1], sweep=wide), folder, 1))
    return {path.name: path for path in paths}


@pytest.fixture(scope="module")
def made(folders):
    return {name: matrix_of(folder) for name, folder in folders.items()}


@pytest.fixture(scope="module")
def corked():
    """nodelay against cork in the stored result, times and counts."""
    return [compare_pair([matrix_of(NODELAY)], {"write": "nodelay"}, {"write": "cork"},
                         [TIME, SEGMENTS])]


def between(folders, base: str, new: str, *metrics, **words):
    """The comparison of two results, whose folders are told without where they are."""
    sides = []
    for name in (base, new):
        matrix = matrix_of(folders[name])
        sides.append(replace(matrix, result=replace(matrix.result, folder=Path(name))))
    return compare_pair(sides, {}, {}, metrics or (TIME,), **words)


def said(capsys, *arguments) -> str:
    """The one line with which `uncork compare` refuses."""
    assert main(["compare", *map(str, arguments)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1, out + err
    return err


def test_the_baseline_against_all_others_at_any_width():
    comparisons = compare_baseline(matrix_of(NODELAY), [TIME, SEGMENTS])
    golden_check("compare-80.txt", compared_text(comparisons, 80))
    for width in (80, 100, 160):
        lines = compared_text(comparisons, width)
        assert max(map(len, lines.splitlines())) <= width and lines.isascii() and "\t" not in lines
        assert not any(line != line.rstrip() for line in lines.splitlines())


def test_two_results_begin_with_what_differs_between_their_machines(folders):
    lines = compared_text([between(folders, "old", "new")], 80)
    golden_check("compare-results-80.txt", lines)
    assert lines.index("cpus_online 2 -> 4") < lines.index(
        "kernel 6.18.0-test -> 6.19.0") < lines.index("Time per")


def test_two_sessions_are_too_few_to_say_anything_and_a_note_says_so(folders):
    lines = compared_text([between(folders, "old", "once", TIME, SEGMENTS, declared=["kernel"])],
                          100)
    golden_check("compare-once.txt", lines)
    assert "-7.8%?" in lines and "variation between sessions is unknown" in lines


def test_csv_and_json_have_what_the_model_has(folders):
    comparison = between(folders, "old", "new", TIME, SEGMENTS)
    rows = list(csv.DictReader(io.StringIO(compared_rendered("csv", [comparison]))))
    assert [row["row"] for row in rows] == ["cell"] * 6 + ["geomean"] + ["cell"] * 6
    change = comparison.rows[0].changes[TIME.name]
    assert float(rows[0]["change"]) == pytest.approx(change.ratio.value - 1)
    assert (rows[0]["verdict"], rows[0]["pairs"], rows[7]["verdict"],
            rows[7]["p"]) == ("changed", "4", "exact", "")
    whole = json.loads(compared_rendered("json", [comparison]))["comparisons"][0]
    assert whole["forced"] and not whole["paired"] and len(whole["differences"]) == len(
        comparison.differences)
    changes = whole["rows"][0]["changes"]
    assert changes[TIME.name]["ratio"]["p"] == change.ratio.p
    assert changes[SEGMENTS.name]["ratio"].keys() == {"value", "pairs", "p"}


def test_a_row_of_one_side_only_is_shown_and_has_no_change(corked):
    comparison = compare_pair([corked[0].base.matrix], {"write": "nodelay"},
                              {"write": "cork", "place": "apart"}, [TIME])
    lines = compared_text([comparison], 100)
    assert re.search(r"^together +35\.6 +2\.0% +- +- +-$", lines, re.MULTILINE)
    assert "1 of 2 rows have a cell on one side only" in lines
    assert "together,,,,,,,,,,,,,,,,,," in compared_rendered("csv", [comparison])
    assert benchstat.render([comparison]).count("place=together") == 0


def test_what_would_be_found_stands_below_where_there_is_no_room_beside():
    comparison = compare_pair([matrix_of(NODELAY)], {"write": "nodelay"}, {"write": "writev"},
                              [TIME])
    wide, narrow = compared_text([comparison], 72), compared_text([comparison], 71)
    assert re.search(r"^apart .* ~ .* 13% +1\+1$", wide, re.MULTILINE)
    assert re.search(r"^apart .* ~ .*x\]$", narrow, re.MULTILINE)
    below = narrow.partition("\n\nplace     MDE  outliers\n")[2].splitlines()
    assert below[1:4] == ["together            2+1", "apart     13%       1+1", "geomean"]


def test_a_change_has_one_text_and_one_mark():
    texts = {verdict: marked("+3.1%", verdict, Status.MIXED) for verdict in Verdict}
    assert texts == {Verdict.CHANGED: "+3.1%", Verdict.UNDECIDED: "~", Verdict.UNKNOWN: "+3.1%?",
                     Verdict.EXACT: "+3.1%", Verdict.EQUIVALENT: "=", Verdict.WITHHELD: "mixed"}


def benchmarks_read(lines: str) -> dict[str, list[dict[str, float]]]:
    """The values by name, as the description of Go's benchmark format says: strictly."""
    found: dict[str, list[dict[str, float]]] = {}
    for line in filter(None, lines.splitlines()):
        fields = line.split(" ")
        if fields[0].startswith("Benchmark"):
            assert re.fullmatch(r"Benchmark[A-Z][^ ]*", fields[0]) and not re.search(
                r"-\d+$", fields[0]
            )
            assert int(fields[1]) > 0 and len(fields) % 2 == 0 and len(fields) > 2
            found.setdefault(fields[0], []).append(
                {unit: float(value) for value, unit in zip(fields[2::2], fields[3::2],
                                                           strict=True)})
        else:
            assert re.fullmatch(
                r"Unit \S+( (better=(lower|higher)|assume=exact))+|[a-z][^A-Z ]*: .+", line), line
    return found


def test_benchstat_has_the_values_of_each_round_or_of_each_session(corked, folders):
    golden_check("compare.benchstat", benchstat.render(corked))
    lines = benchstat.render(corked)
    assert "Unit segments_per_message better=lower assume=exact" in lines
    assert "Unit time_per_message-sec better=lower\n" in lines
    found = benchmarks_read(lines)
    assert list(found) == [f"BenchmarkNodelay/place={place}/side={side}"
                           for place in ("together", "apart") for side in ("base", "new")]
    cell = corked[0].rows[0].new.name
    rounds = corked[0].new.matrix.series(cell, TIME.name).values.tolist()
    assert [line["time_per_message-sec"]
            for line in found["BenchmarkNodelay/place=together/side=new"]] == \
        pytest.approx(rounds, rel=1e-9)
    sessions = benchmarks_read(benchstat.render([between(folders, "old", "once")]))
    assert [len(values) for values in sessions.values()] == [4, 1] * 6


def test_hgrm_has_both_sides_of_every_row(corked):
    tables = hgrm.render(corked).split("\n\n\n")
    assert [table.partition("\n")[0] for table in tables] == [
        f"# write={write} place={place}: latency in us"
        for place in ("together", "apart") for write in ("nodelay", "cork")]
    runs = corked[0].new.matrix.runs_good(corked[0].rows[0].new.name)
    assert tables[1].partition("\n")[2] == hgrm_text(histogram_of(runs, "latency"),
                                                     "us").rstrip("\n")


def test_a_base_that_all_share_stands_in_hgrm_and_hyperfine_once(folders):
    comparisons = compare_baseline(matrix_of(folders["work"]), [TIME])
    assert len(comparisons) == 2
    results = json.loads(hyperfine.render(comparisons))["results"]
    assert [entry["parameters"] for entry in results] == [
        {"side": f"write={write}", "place": place} for places in (
            [("together", "nodelay"), ("together", "cork"), ("apart", "nodelay"),
             ("apart", "cork")],
            [("together", "writev"), ("apart", "writev")]) for place, write in places]
    assert hgrm.render(comparisons).count("Max") == 6


def test_hyperfine_has_the_times_of_runs_that_do_a_set_work(folders):
    comparison = compare_pair([matrix_of(folders["work"])], {"write": "nodelay"}, {"write": "cork"},
                              [TIME])
    entry = json.loads(hyperfine.render([comparison]))["results"][0]
    times = comparison.base.matrix.series(comparison.rows[0].base.name, "time").values.tolist()
    assert entry["times"] == times and entry["exit_codes"] == [
        0] * 6 and entry["mean"] == pytest.approx(sum(times) / 6)
    assert entry["min"] <= entry["median"] <= entry["max"] and entry["stddev"] > 0
    assert entry["command"].startswith("uncork-client ") and "messages=300" in entry["command"]
    assert {"user", "system"} < entry.keys()


def test_hyperfine_refuses_what_runs_for_a_set_time(corked):
    with pytest.raises(UsageError, match="runs for a set time"):
        hyperfine.render(corked)


def test_two_builds_tell_their_revisions_and_are_what_is_compared(folders):
    comparison = compare_pair([matrix_of(folders["builds"])], {"build": "old"}, {"build": "new"},
                              [TIME])
    assert [(one.kind, one.name, one.base, one.new, one.declared)
            for one in comparison.differences] == [
        ("binaries", "revision", "vold", "vnew", True),
        ("binaries", "digest", "old-digest", "new-digest", True)]


def test_the_command_compares_within_a_result():
    done = uncork("compare", NODELAY, "write=nodelay", "write=cork place=apart", "place=apart",
                  "columns=time_per_message,segments_per_message", "--csv")
    assert done.returncode == 0
    assert done.stderr == (
        "uncork: left out 10 of 12 cells of nodelay: not write=nodelay,cork place=apart\n")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [(row["metric"], row["new_name"]) for row in rows] == [
        ("time_per_message", "write=cork"), ("segments_per_message", "write=cork")]


def test_a_word_of_the_baseline_is_compared_with_it(capsys):
    assert main(["compare", str(NODELAY), "write=cork", "place=apart", "--strict"]) == 0
    out = capsys.readouterr().out
    assert "\nbase     write=nodelay place=apart\nnew      write=cork place=apart\n" in out


def test_two_results_take_a_selector_each_and_words_that_narrow_both(capsys, folders):
    words = ("write=nodelay", "write=cork", "place=apart")
    assert main(["compare", str(folders["old"]), str(folders["once"]), *words, "--json"]) == 0
    (comparison,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert comparison["base"]["words"] == {"write": "nodelay", "place": "apart"}
    assert comparison["new"]["words"] == {"write": "cork",
                                          "place": "apart"} and len(comparison["rows"]) == 1


def test_across_the_number_of_cpus_only_force_or_the_axis_compares(capsys, folders):
    sides = folders["old"], folders["new"]
    line = said(capsys, *sides, "axis=kernel")
    assert "cpu cpus_online 2 -> 4" in line and (
        "(axis=kernel,cpu declares it); --force compares nevertheless" in line)
    assert main(["compare", *map(str, sides), "axis=cpu"]) == 0
    assert "forced" not in capsys.readouterr().out
    assert main(["compare", *map(str, sides), "--force"]) == 0
    assert "note      forced across cpu cpus_online 2 -> 4" in capsys.readouterr().out


def test_strict_refuses_what_is_not_declared_and_a_kernel_brings_a_boot_with_it(capsys, folders):
    sides = folders["old"], folders["once"]
    line = said(capsys, *sides, "axis=kernel", "--strict")
    assert "differ in more than what is compared: sysctl net.ipv4.tcp_rmem unknown -> 4096" in line
    assert "boot" not in line and "(axis=kernel,sysctl declares it)" in line
    assert main(["compare", *map(str, sides), "axis=kernel,sysctl", "--strict", "--json"]) == 0
    assert all(one["declared"]
               for one in json.loads(capsys.readouterr().out)["comparisons"][0]["differences"])


def test_what_compare_refuses(capsys, folders, tmp_path):
    old, once = folders["old"], folders["once"]
    for arguments, says in (
            (["write=cork"], '"write=cork": the folder of a result comes first'),
            ([tmp_path / "none"], "none: no such folder"),
            ([old, once, old], "there are two results, not more"),
            ([old, old], "have a common session"),
            ([old, once, "axis=kernal"],
             "the two results do not differ in it: did you mean kernel?"),
            ([old, "axis=kernel"], "axis=kernel is for two results"),
            ([NODELAY, "wrote=cork"], "no word wrote in nodelay: did you mean write?"),
            ([NODELAY, "write=nodelay", "write=corc"], "has write=corc: did you mean cork?"),
            ([NODELAY, "write=nodelay", "write=cork", "write=more"],
             "a comparison has two sides, not more"),
            ([NODELAY, "write=cork", "write=cork"], '"write=cork" is given twice'),
            ([NODELAY, "write=nodelay", "write=cork,more"],
             "write=cork,more: each side must have one value of write"),
            ([NODELAY, "columns=bogus"], 'unknown metric "bogus" (uncork list shows them)'),
            ([NODELAY, "columns=time_per_massage"], "did you mean time_per_message?"),
            ([NODELAY, "columns=time,time"], '"columns=time,time": a name is given twice'),
            ([NODELAY, "columns=time", "columns=user"], "columns is given twice"),
            ([NODELAY, "--hgrm", "columns=time"], "--hgrm always has the same metrics"),
            ([NODELAY, "--csv", "--json"], "not allowed with argument"),
            ([old, folders["slow"], "axis=virtualisation"],
             f"time_per_message: {TIMES_INVALID}"),
    ):
        assert says in said(capsys, *arguments), arguments


def test_of_an_emulated_machine_no_time_is_shown_in_any_format(folders):
    comparison = between(folders, "old", "slow", SEGMENTS, declared=["virtualisation"])
    assert f"emulated, new  local: {EXACT_ONLY}" in compared_text([comparison], 100)
    assert f"6 cells: {EXACT_ONLY}" in dict(comparison_block(comparison, [["x"]]).foot)["emulated"]
    for render in (hgrm.render, hyperfine.render):
        with pytest.raises(UsageError, match=TIMES_INVALID):
            render([comparison])


OPPOSED = "depends on place: faster together; slower apart"


def test_rows_that_changed_to_opposite_sides_are_named_and_not_pooled():
    comparison = compare_pair([matrix_of(NODELAY)], {"write": "nodelay"}, {"write": "cork"}, [TIME])
    assert comparison.geomeans == {}
    assert f"no geomean: {OPPOSED}" in compared_text([comparison], 100)
    told = json.loads(compared_rendered("json", [comparison]))["comparisons"][0]["metrics"]
    assert (told[TIME.name]["geomean"], told[TIME.name]["opposed"]) == (None, OPPOSED)
    for command in (["compare", NODELAY, "write=cork", "--md"], ["paste", NODELAY, "write=cork"],
                    ["table", NODELAY], ["table", NODELAY, "--html"],
                    ["report", NODELAY, "-o", "-"]):
        assert OPPOSED in " ".join(uncork(*command).stdout.split()), command
    assert "depends" not in uncork("compare", NODELAY, "write=more").stdout


@pytest.mark.parametrize("rows, text", [
    ([("a x", 0.5), ("b x", 2.0)], "depends on place: faster a; slower b"),
    ([("a x", 0.5), ("a y", 2.0)], "depends on size: faster x; slower y"),
    ([("a x", 0.5), ("b y", 0.5), ("a y", 2.0)], "depends on the row: faster a x, b y; slower a y"),
    ([(f"a {size}", 0.5) for size in range(6)] + [("b x", 2.0)],
     "depends on place: faster a; slower b"),
    ([(f"a {size}", 0.5) for size in range(6)] + [("a ", 2.0)],
     "depends on size: faster 0, 1, 2, 3, and 2 more; slower none"),
    ([("a x", 0.5), ("b x", 0.9)], ""), ([], ""),
])
def test_what_opposite_rows_depend_on_is_the_word_that_tells_them_apart(rows, text):
    def named(verdict):
        return [(dict(zip(("place", "size"), name.split(" "), strict=True)),
                 judged_as(verdict, stats.Estimate(ratio, None, 7))) for name, ratio in rows]
    assert opposed_text(named(Verdict.CHANGED), TIME) == text
    for verdict in (Verdict.UNDECIDED, Verdict.UNKNOWN, Verdict.WITHHELD):
        assert opposed_text(named(verdict), TIME) == ""
    turned = text.replace("faster", "better").replace("slower", "worse")
    assert opposed_text(named(Verdict.CHANGED), SEGMENTS) == turned


def test_geomean_all_is_of_exact_counts_and_timers_too_and_says_so(tmp_path):
    words = [NODELAY, "write=nagle", "columns=time_per_message,sends_per_message", "geomean=all"]
    text = " ".join(uncork("compare", *words).stdout.split())
    assert text.count("geomean=all of 2 cells, n=7") == 2
    assert "all: exact counts and rows that wait for a 40 ms timer too" in text
    assert "geomean" not in uncork("compare", *words[:-1]).stdout
    (tmp_path / "mail").write_text(uncork("paste", *words).stdout)
    assert "geomean=all of 2 cells, n=7" in (tmp_path / "mail").read_text()
    assert uncork("verify", tmp_path / "mail", NODELAY).stdout.startswith("the same")


@pytest.mark.parametrize("command", ["compare", "paste"])
def test_geomean_has_no_other_value(command):
    assert refused(command, NODELAY, "geomean=some").startswith(
        '"geomean=some": geomean=all is the only value')


def test_exact_counts_have_no_interval_on_either_side_nor_as_ratio(nodelay, made):
    across = compare_pair([made["old"], made["new"]], {}, {}, [SEGMENTS])
    within = compare_pair([nodelay], {"write": "nodelay"}, {"write": "cork"}, [SEGMENTS])
    changes = [row.changes[SEGMENTS.name] for one in (across, within) for row in one.rows]
    assert any(change.base.exact and len(across.base.sessions) == 4 for change in changes)
    for change in changes:
        for figure in (change.base, change.new):
            assert (figure.interval is None) == figure.exact
        assert (change.ratio.interval is None) == (change.base.exact and change.new.exact)


def test_what_else_varies_becomes_rows_and_rounds_are_paired(nodelay):
    comparison = compare_pair([nodelay], {"write": "nodelay"}, {"write": "cork"}, [TIME, SEGMENTS])
    assert comparison.paired and comparison.axes == ("place",)
    assert [row.axes for row in comparison.rows] == [{"place": "together"}, {"place": "apart"}]
    change, family = comparison.rows[0].changes[TIME.name], comparison.family(TIME.name)
    values = [nodelay.series(cell.name, "time_per_message").values
              for cell in (comparison.rows[0].new, comparison.rows[0].base)]
    assert change.ratio == stats.ratio_make(*values, True).estimate(family.alpha)
    assert change.ratio.value == pytest.approx(change.new.median / change.base.median)
    assert change.verdict is Verdict.CHANGED and family.tested == 10
    assert comparison.same_widest("time_per_message") == pytest.approx(1.0137, abs=1e-4)


def test_sides_that_differ_in_no_word_are_refused(nodelay):
    for new in ({"write": "nodelay"}, {"place": "apart"}):
        with pytest.raises(UsageError, match="differ in no word"):
            compare_pair([nodelay], {"write": "nodelay"}, new, [TIME])


def test_between_two_results_a_session_is_the_unit(made):
    comparison = compare_pair([made["old"], made["new"]], {}, {}, [TIME])
    change = comparison.rows[0].changes["time_per_message"]
    assert not comparison.paired and comparison.axes == ("place", "write")
    assert change.base.rounds == change.new.rounds == change.ratio.pairs == 4
    assert change.verdict is Verdict.CHANGED and change.ratio.interval.contains(0.92)
    medians = [[made[name].series(row.name, TIME.name).by_round.loc[first:first + 5].median()
                for first in (1, 7, 13, 19)]
               for name, row in (("new", comparison.rows[0].new), ("old", comparison.rows[0].base))]
    assert change.ratio == stats.ratio_make(*medians, False).estimate(change.judged.family.alpha)
    assert comparison.geomeans["time_per_message"].ratio.value == pytest.approx(0.92, abs=0.01)
    assert comparison.notes == ()


def test_words_that_differ_between_results_and_are_no_rows_are_told(made):
    comparison = compare_pair([made["old"], made["new"]], {"write": "nodelay"}, {"write": "cork"},
                              [TIME])
    told = {one.name: one for one in comparison.differences if one.kind == "words"}
    assert told["write"].declared and (told["write"].base, told["write"].new) == ("nodelay", "cork")
    assert comparison.new.name == "6.19.0 write=cork"


def test_cells_of_one_result_only_stand_in_rows_of_their_own(made):
    comparison = compare_pair([made["old"], made["wide"]], {}, {}, [TIME])
    rows = [(*row.axes.values(), row.base is not None, row.new is not None)
            for row in comparison.rows]
    assert ("apart", "nodelay", True, True) in rows and ("apart", "cork", True, False) in rows
    assert rows[-1] == ("free", "writev", False, True) and len(rows) == 8


def test_an_axis_with_one_value_that_the_other_side_lacks_is_told_and_not_merged(made):
    comparison = compare_pair([made["old"], made["wide"]], {}, {"place": "free"}, [TIME])
    assert [tuple(row.axes.values()) for row in comparison.rows if row.base and row.new] == [
        ("together", "nodelay"), ("together", "writev"), ("apart", "nodelay"), ("apart", "writev")]
    told = next(one for one in comparison.differences if one.name == "place")
    assert (told.base, told.new, told.declared) == ("together,apart", "free", False)


def test_of_an_emulated_machine_only_counts_are_compared(made):
    comparison = compare_pair([made["once"], made["slow"]], {}, {}, [TIME, SEGMENTS])
    assert comparison.metrics == (SEGMENTS,) and comparison.notes[0] == TIMES_INVALID
    with pytest.raises(UsageError, match=TIMES_INVALID):
        compare_pair([made["slow"]], {"write": "nodelay"}, {"write": "cork"}, [TIME])


def family_of(*factors: float, rounds: int = 10) -> Family:
    """The family of rows that became slower by these factors, with 2 % of noise, the same in each,
    of rounds that do not depend on each other."""
    base, noise = np.ones(rounds), np.linspace(0, 0.02, rounds + 1)[1:] * np.resize([1, -1], rounds)
    series = [Series(np.arange(rounds), values, values) for values in (
        base, *(np.exp(noise) * factor for factor in factors))]
    return Family({place: Contrast(series[0], new, Status.OK, ratio=stats.ratio_make(
        new.values, base, True)) for place, new in enumerate(series[1:])})


def test_the_interval_of_a_row_among_many_is_wider_and_decides():
    alone, many = (Judged(family.members[0], family) for family in (
        family_of(1.015), family_of(1.015, *[1.0] * 9)))
    assert alone.verdict is Verdict.CHANGED and many.verdict is Verdict.UNDECIDED
    assert not alone.estimate.interval.contains(1) and many.estimate.interval.contains(1)
    assert many.family.alpha == pytest.approx(stats.ALPHA / 10)
    assert alone.detectable is None and many.detectable > 0.015


def test_a_family_in_which_more_rows_change_has_narrower_intervals():
    few, many = family_of(1.1, *[1.0] * 9), family_of(*[1.1] * 8, 1.0, 1.0)
    assert (few.alpha, many.alpha) == (pytest.approx(0.005), pytest.approx(0.04))


def test_where_no_p_could_survive_that_is_known():
    def is_hopeless(*factors: float, rounds: int) -> bool:
        return family_of(*factors, rounds=rounds).hopeless
    assert is_hopeless(1.1, *[1.0] * 4, rounds=6) and not is_hopeless(*[1.1] * 4, 1.0, rounds=6)
    assert is_hopeless(1.0, 1.0, rounds=6) and not is_hopeless(1.0, rounds=6)
    assert not is_hopeless(1.1, *[1.0] * 9, rounds=10)
