# SPDX-License-Identifier: MIT
"""Blocks for mails: byte for byte, and by the rules of what a mail can carry."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from dataclasses import replace

import pytest
from sessions_make import recipe_sessions, sessions_write

from answers import NODELAY, changed, golden_check, matrix_of, result_make, uncork
from mails import ODD, Forged, command_run, comparison_random, pasted, verified
from suite import stats
from suite.base.errors import Failure, UsageError
from suite.commands.compare import uncork_paste as paste
from suite.contrast.contrast import Unit, Verdict
from suite.decide.comparison.model import Change, Comparison, Difference, Mean, Row, Side
from suite.decide.summary import Figure
from suite.observe.metrics import METRICS
from suite.present.comparison.wording import mean_text, side_text
from suite.present.mail.block import blocks_build, comparison_block
from suite.present.mail.foot import differences_text, mitigations_text, network_text
from suite.present.mail.parse import blocks_read, deviations_find, side_words
from suite.present.mail.rules import COLUMNS, RULES, lines_require
from suite.present.tables.mail import STYLES, block_lines
from suite.result.machine import Machine
from suite.result.plan import Build


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Results that are made, not stored, by name."""
    folder = tmp_path_factory.mktemp("results")
    return {recipe.name: result_make.result_write(recipe, folder) for recipe in (
        result_make.recipe_transports(), result_make.recipe_sizes(2, 6),
        result_make.recipe_sizes(1, 1, rounds=1),
        result_make.recipe_replies(), result_make.recipe_buffers())}


BAD = [
    "x" * (COLUMNS + 1), "a\tb", "ends with a blank ", "\x1b[31mred", "---", "--- a/file", "--",
    "--- ----", "---- four", "diff --git a/x b/x", "diff -u x y", "Index: x", "From here on",
    "From: somebody",
    "Subject: x", "Date: x", "# comment", "> quoted", "caf\u00e9",
]


@pytest.mark.parametrize("line", BAD)
def test_the_printer_refuses_what_a_mail_cannot_carry(line):
    with pytest.raises(Failure, match="not fit for a mail"):
        lines_require(["before", line, "after"])


def test_every_rule_is_broken_by_some_line_and_none_by_what_is_allowed():
    for broken, why in RULES:
        assert any(broken(line) for line in BAD), why
    good = ["----", "x" * COLUMNS, "- an item", "  --- indented", "Fromage", "indexes: 1", "|---|",
            "~", "", "2x4K #1"]
    lines_require(good)
    lines_require(["\u00b5s \u00b1"], utf8=True)


@pytest.mark.parametrize("style", STYLES)
def test_a_block_by_style(nodelay, style):
    cork, = pasted(nodelay, "write=cork", style=style)
    golden_check(f"paste-cork.{style}", "\n".join(cork) + "\n")


def test_a_block_says_where_the_sources_are_if_the_build_knows_it(nodelay):
    plan = nodelay.result.plan
    public = replace(plan, programs=replace(plan.programs, homepage="https://example.org/uncork"))
    matrix = replace(nodelay, result=replace(nodelay.result, plan=public))
    block, = pasted(matrix, "write=cork")
    said, = [" ".join(block[at:at + 2]) for at, line in enumerate(block) if "revision" in line]
    assert " ".join(said.split()).startswith(
        "uncork: version 0.1.0, revision 0123abcd; https://example.org/uncork ")


def test_two_builds_are_called_by_their_revisions(nodelay):
    known = nodelay.result.plan
    plan = replace(known, programs=replace(known.programs,
                                           builds={**known.programs.builds,
                                                   "../old": Build("../old", "v1.0-3", "d")}))
    matrix = replace(nodelay, result=replace(nodelay.result, plan=plan))
    sides = [Side(f"build={build}", matrix, {"build": build})
             for build in ("this", "../old")]
    assert list(map(side_text, sides)) == ["0123abcd; build=this", "v1.0-3; build=../old"]
    block = comparison_block(replace(comparison_random(nodelay, 3), base=sides[0], new=sides[1]),
                             [["nodelay"]])
    posted, = blocks_read("\n".join(block_lines(block)))
    assert [side_words(posted.heads[label]) for label in ("base", "new")] == [
        side.words for side in sides
    ]


def test_blocks_of_other_shapes(made):
    shapes = {
        "sizes": (matrix_of(made["sizes-2-6"]), "columns=bandwidth,segments_per_message"),
        "unsupported": (matrix_of(made["transports"]), "write=more"),
        "gain": (matrix_of(made["replies"]), "reply_write=cork", "security=gnutls"),
        "default-first": (matrix_of(made["buffers"]), "direction=send", "direction=receive"),
        "one-cell": (matrix_of(made["sizes-1-1"]),),
    }
    for name, (matrix, *words) in shapes.items():
        block, = pasted(matrix, *words)
        golden_check(f"paste-{name}.txt", "\n".join(block) + "\n")


def test_symbols_where_somebody_asks_for_them(nodelay):
    plain, = pasted(nodelay, "write=cork")
    symbols, = pasted(nodelay, "write=cork", utf8=True)
    text = "\n".join(symbols)
    assert "\u00b5s" in text and "\u00b1" in text and "+/-" not in text
    assert deviations_find(*blocks_read(text), plain) == []


def test_without_words_the_baseline_is_compared_with_each_other_value(nodelay):
    heads = [(lines[0], lines[1]) for lines in pasted(nodelay)]
    assert heads == [("base: write=nodelay", f"new:  write={name}")
                     for name in ("nagle", "cork", "more", "writev", "coalesce")]


def test_what_is_too_wide_is_cut_by_columns_and_then_by_the_first_axis(nodelay):
    comparison = comparison_random(nodelay, 1)
    change = Change(*[Figure(123456.0, stats.Interval(1, 2, 0.97), 7, False)] * 2, Forged(
        stats.Estimate(900.0, stats.Interval(800.0, 1000.0, 0.97), 7), Verdict.CHANGED))
    metric = METRICS["messages_per_second"]

    def lines_of(axes):
        row = Row(axes, None, None, {metric.name: change})
        one = Comparison(comparison.base, comparison.new, tuple(axes), (metric,), (row,),
                         Unit.ROUND, {}, (), ())
        return block_lines(comparison_block(one, [["nodelay"]]))
    message = "32/2x4K/2x4K/2x4K/2x4K/2x4K"
    titles = [line for line in lines_of({"message": message}) if "better" in line]
    assert len(titles) == 2
    cut = lines_of({"message": message, "place": "x" * 30})
    assert f"at:   message={message}" in cut
    assert "at:   message=" + "x" * 50 in lines_of({"message": "x" * 50})


@pytest.mark.parametrize("style", STYLES)
def test_any_comparison_makes_a_block_that_obeys_the_rules_and_is_verified(nodelay, style):
    for seed in range(150):
        words = ["words", "write=nodelay,cork", f"build={ODD[-1]}"]
        block = comparison_block(comparison_random(nodelay, seed), [words])
        lines = block_lines(block, style)
        text = "\n".join(lines)
        assert text == text.strip() and "\n\n\n" not in text
        posted, = blocks_read(text)
        assert deviations_find(posted, lines) == []
        assert len(set(posted.metrics)) == len(block.sections[0].tables)
        assert "..." not in "\n".join(lines)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """Results of four sessions by kernel, and one of a machine with more CPUs."""
    folder, times = tmp_path_factory.mktemp("kernels"), (1.0, 1.02, 0.99, 1.01)
    return {name: sessions_write(recipe_sessions(name, [factor * time for time in times], 2),
                                 folder, 4, facts)
            for name, factor, facts in (("old", 1.0, {}), ("new", 0.9, {"kernel": "6.19.0-rc1"}),
                                        ("large", 1.0, {"cpus_online": 64}))}


def test_two_results_are_called_by_their_kernels_and_verified_in_their_order(
    kernels, tmp_path, capsys
):
    old, new = kernels["old"], kernels["new"]
    status, text = command_run(paste, capsys, old, new, "place=together")
    golden_check("paste-kernels.txt", text)
    assert status == 0 and verified(capsys, tmp_path, text, old, new)[0] == 0
    for results in ((new, old), (old,), (new, new)):
        status, said = verified(capsys, tmp_path, text, *results)
        assert status == 1 and "not the same" in said


def test_results_with_long_and_foreign_names_make_a_block(tmp_path, capsys):
    names = ("pr\u00fcfung", "x" * 90 + "-20260102-030405")
    results = [sessions_write(recipe_sessions(name, [1.0], 2), tmp_path,
                              1).rename(tmp_path / folder)
               for name, folder in zip("ab", names, strict=True)]
    for symbols in ((), ("--utf8",)):
        status, text = command_run(paste, capsys, *results, *symbols)
        assert status == 0 and names[1] in text.replace("\\\n      ", "")
        for prose in ("", "Gr\u00fc\u00dfe\n\n"):
            assert verified(capsys, tmp_path, prose + text, *results)[0] == 0


def test_the_mean_counts_the_cells_that_it_is_of(nodelay):
    exact = Figure(15.0, None, 7, True)
    rows = tuple(Row({"place": name}, None, None, {"segments_per_message": change})
                 for name, change in (
        ("one", Change(replace(exact, exact=False), exact,
                       Forged(stats.Estimate(0.5, None, 7), Verdict.UNKNOWN))),
        ("two", Change(exact, exact, Forged(stats.Estimate(1.0, None, 7), Verdict.EXACT))),
        ("three", Change(exact, exact, Forged(None, Verdict.WITHHELD)))))
    metric = METRICS["segments_per_message"]
    mean = Mean(stats.Estimate(0.5, stats.Interval(0.4, 0.6, 0.97), 7), 1,
                {1: "exact counts", 2: "no ratio"})
    comparison = replace(comparison_random(nodelay, 3), axes=("place",), metrics=(metric,),
                         rows=rows, geomeans={metric.name: mean})
    assert mean_text(comparison, metric) == (
        "geomean of 1 of 3 cells, n=7, without two (exact counts), three (no ratio)")
    whole = replace(comparison, geomeans={metric.name: replace(mean, rows=3, left_out={})})
    assert mean_text(whole, metric) == "geomean of 3 cells, n=7"


@pytest.mark.parametrize("style", STYLES)
def test_a_block_of_sessions_has_the_command_of_each(kernels, style, tmp_path, capsys):
    text = command_run(paste, capsys, kernels["old"], "write=cork", "--style", style)[1]
    more = "uncork run --more -o results/old\n"
    first = "rounds=2 seed=7 -o results/old\n"
    assert text.count(more) == 3 and first in text.replace("\\\n  ", "")
    for columns in (72, 66, 30):  # as a mail program wraps it
        wrapped = [part for line in text.splitlines() for part in (textwrap.wrap(
            line, columns, break_on_hyphens=False) if "uncork" in line or "-o" in line else [line])]
        assert verified(capsys, tmp_path, "\n".join(wrapped), kernels["old"])[0] == 0
    checkout = re.sub("^uncork run", "scripts/uncork run", text, flags=re.M)
    assert verified(capsys, tmp_path, checkout, kernels["old"])[0] == 0
    assert verified(capsys, tmp_path, text.replace(more, "", 1), kernels["old"])[0] == 1


def test_a_declared_axis_stands_in_the_block_and_is_verified(kernels, tmp_path, capsys):
    old, new, large = (kernels[name] for name in ("old", "new", "large"))
    text = command_run(paste, capsys, old, new, "place=together", "axis=kernel")[1]
    assert "\naxis: kernel\n" in text and "\ndiffers: nothing else\n" in text
    assert "compared: kernel 6.18.0-test -> 6.19.0-rc1\n" in text
    across = command_run(paste, capsys, old, large, "place=together", "axis=cpu,boot")[1]
    assert "compared: cpu cpus_online 2 -> 64\n" in across
    for posted, results in ((text, (old, new)), (across, (old, large))):
        assert verified(capsys, tmp_path, posted, *results)[0] == 0
        more = posted.replace("axis: ", "axis: governor,")
        status, said = verified(capsys, tmp_path, more, *results)
        assert status == 1 and "do not differ in it" in said


def test_a_block_names_kernel_and_clock_and_counts_settings_without_paths_or_boot_parameters():
    kernel, clock, ours, build, target, cpus, *others = [Difference(*one) for one in (
        ("kernel", "kernel", "6.17.0", "6.18.0"),
        ("clocksource", "server.clocksource", "tsc", "hpet"),
        ("words", "write", "cork", "more"), ("binaries", "revision", "0123abcd", "4567cdef"),
        ("words", "target", "vng:/home/me/old", "vng:~/new"),
        ("cpu", "cpus_online", "2", "64", True, True),
        ("boot", "boot", "a", "b"), ("cmdline", "BOOT_IMAGE", "/home/me/bzImage", "unknown"),
        ("kernel", "kernel_version", "#1 SMP me@home", "#2 SMP me@home"),
        ("sysctl", "kernel.core_pattern", "|/home/me/dump", "core"))]
    assert differences_text([kernel, clock, ours, build, target, cpus, *others]) == (
        "cpu cpus_online 2 -> 64; kernel 6.17.0 -> 6.18.0; clocksource server.clocksource tsc -> "
        "hpet; words write cork -> more; binaries revision 0123abcd -> 4567cdef; and 4 other "
        "settings")
    assert differences_text(others[1:2]) == "1 other setting"
    assert differences_text(others[:1]) == ""


@pytest.mark.parametrize("words, said", [
    (("new", "axis=kernal"), "axis=kernal: the two results do not differ in it"),
    (("new", "axis=,"), "an empty name"),
])
def test_an_axis_that_says_nothing_is_refused(kernels, words, said, capsys):
    with pytest.raises(UsageError, match=re.escape(said)):
        command_run(paste, capsys, kernels["old"], *(kernels.get(word, word) for word in words))


def test_machines_between_which_ratios_say_nothing_make_no_block(kernels):
    with pytest.raises(UsageError, match=r"cpus_online 2 -> 64: a ratio across this difference "
                                         r"does not show what caused it \(axis=cpu declares it\)$"):
        blocks_build([matrix_of(kernels["old"]), matrix_of(kernels["large"])], [])


def test_what_has_nothing_to_show_is_left_out_where_there_are_others(made, capsys):
    matrix = matrix_of(made["replies"])
    assert len(pasted(matrix, "transport=unix", "security=plain")) == 1
    assert capsys.readouterr().err.count("uncork: left out: ") == 1
    with pytest.raises(UsageError, match="have no messages_per_second to compare"):
        pasted(matrix, "transport=unix", "security=plain", "reply_write=cork")


@pytest.mark.parametrize("style", STYLES)
def test_long_machines_and_differences_are_wrapped_and_verified(
    kernels, style, tmp_path, capsys
):
    results, long = [], " ".join(f"clock number {number};" for number in range(20))
    for name in ("old", "new"):
        results.append(tmp_path / name)
        shutil.copytree(kernels[name], results[-1])
        hosts = json.loads((results[-1] / "hosts.json").read_text())
        for facts in hosts.values():
            facts |= {"cpu": "Intel(R) Xeon(R) " + "Platinum " * 12 + name,
                      "clocksource": f"{long} {name}"}
        (results[-1] / "hosts.json").write_text(json.dumps(hosts))
    status, text = command_run(paste, capsys, *results, "place=together", "--style", style)
    assert status == 0 and "..." not in text and max(map(len, text.splitlines())) <= COLUMNS
    said = " ".join(text.split())
    assert "Platinum " * 12 + "old," in said and (
        f"{long} old -> {long} new; and 1 other setting") in said
    assert verified(capsys, tmp_path, text, *results)[0] == 0
    assert verified(capsys, tmp_path, text.replace("number 17", "number 71"), *results)[0] == 1


@pytest.mark.parametrize("told, said", [
    ({"mds": "Not affected", "spectre_v2": "Mitigation: Retpolines", "l1tf": "Vulnerable",
      "itlb_multihit": "KVM: Mitigation: VMX disabled", "itlb": "Processor vulnerable"},
     "mitigations itlb_multihit spectre_v2 (vulnerable: itlb l1tf)"),
    ({"mds": "Not affected"}, "mitigations none"), ({}, "mitigations unknown"),
])
def test_mitigations_are_named_and_so_is_what_stays_vulnerable(told, said):
    assert mitigations_text(Machine(("h",), {"mitigations": told})) == said


ETHERNET = {"name": "eth0", "mtu_bytes": 9000}


@pytest.mark.parametrize("words, device, other, said", [
    ({}, {"name": "lo", "mtu_bytes": 65536}, None, "loopback (lo MTU 65536); cubic"),
    ({}, {}, None, "loopback; cubic"), ({}, ETHERNET, None, "loopback; cubic"),
    ({}, ETHERNET, {"name": "ens3", "mtu_bytes": 1500},
     "hosts: client eth0 MTU 9000, server ens3 MTU 1500; cubic"),
    ({}, ETHERNET, {}, "hosts: client eth0 MTU 9000, server device unknown; cubic"),
    ({"lab": "on", "link_rate": "1gbit", "link_mtu": "9000"}, {}, None,
     "lab of three namespaces, link_rate=1gbit link_mtu=9000; cubic"),
    ({"transport": "unix"}, {}, None, "Unix sockets; cubic"),
    ({"transport": "null"}, {}, None, "none, nothing is sent; cubic"),
])
def test_the_network_path_is_named(words, device, other, said, tmp_path):
    folder = changed(NODELAY, tmp_path, lambda record: record.get("server", {}).update(
        {"host": "far"} if other is not None else {}))
    (host, facts), = json.loads((folder / "hosts.json").read_text()).items()
    hosts = {host: facts | {"device": device}}
    if other is not None:
        hosts["far"] = facts | {"device": other}
    (folder / "hosts.json").write_text(json.dumps(hosts))
    matrix = matrix_of(folder)
    cells = [replace(cell, words={**cell.words, **words}) for cell in matrix.cells.values()]
    assert network_text(matrix, cells) == said


def test_a_block_says_its_version_and_the_meaning_of_the_signs_that_occur(made, nodelay):
    def legend(*words, of=nodelay):
        block, = pasted(of, *words)
        text = re.sub(r"\s+", " ", "\n".join(block))
        assert "uncork: version 0.1.0, revision 0123abcd" in text
        return re.findall(r"(\S+) = ", text.partition("legend: ")[2])
    assert legend("write=cork") == ["+/-", "change", "FCR", "A/A"]
    assert legend("write=writev") == ["+/-", "change", "~", "FCR", "A/A", "geomean"]
    assert legend("write=more", of=matrix_of(made["transports"])) == ["r", "change", "?"]
    assert legend("write=cork", "columns=sends_per_message") == ["change"]


def titles_of(lines):
    """The metrics of a block, as its tables are called."""
    return [line.partition(",")[0].partition(" (")[0] for line in lines if " is better)" in line]


def test_netdev_shows_throughput_cpu_of_both_ends_and_retransmits(made, tmp_path, capsys):
    status, text = command_run(paste, capsys, NODELAY, "write=cork", "--netdev")
    assert status == 0 and titles_of(text.splitlines()) == [
        "Messages per second", "Client cpu per message", "Server cpu per message",
        "Retransmits per message"]
    assert verified(capsys, tmp_path, text, NODELAY)[0] == 0
    stream = command_run(paste, capsys, made["sizes-2-6"], "--netdev")[1]
    assert titles_of(stream.splitlines())[0] == "Bandwidth"
    said = uncork("paste", made["buffers"], "--netdev").stderr
    assert "left out: no run knows retransmits_per_message" in said
    with pytest.raises(UsageError, match="leave out columns=time"):
        command_run(paste, capsys, NODELAY, "columns=time", "--netdev")


@pytest.mark.parametrize("words, said", [
    (["write=crok"], "did you mean cork?"), (["columns=bandwith"], "did you mean bandwidth?"),
    (["write=cork", "write=more", "write=nagle"], "two sides"),
    (["columns=records_per_reply", "write=cork"], "have no"), (["place=elsewhere"], "no cell"),
])
def test_what_paste_refuses(nodelay, words, said):
    with pytest.raises(UsageError, match="") as error:
        pasted(nodelay, *words)
    assert said in str(error.value) and "\n" not in str(error.value)
