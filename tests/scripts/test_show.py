# SPDX-License-Identifier: MIT
"""`uncork show`, byte for byte, and how it asks for one cell."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from answers import (
    NODELAY,
    changed,
    emulated,
    golden_check,
    matrix_of,
    refused,
    result_make,
    uncork,
)
from suite.base.errors import UsageError
from suite.observe.measured import MeasuredRun
from suite.observe.selection import cells_select
from suite.present.show import (
    cell_choose,
    options_frame,
    show_text,
    tcp_frame,
    threads_frame,
    threads_sums,
)
from suite.result.record import Record


@pytest.fixture(scope="module")
def transports(tmp_path_factory):
    """Three rounds over TCP and Unix sockets, with unsupported and failed cells."""
    return result_make.result_write(result_make.recipe_transports(),
                                    tmp_path_factory.mktemp("results"))


def test_a_cell_explained_with_an_outlier_that_is_marked_and_still_counted():
    text = uncork("show", NODELAY, "place=together", "write=writev").stdout
    assert max(map(len, text.splitlines())) <= 100 and text.isascii()
    golden_check("show-outlier.txt", text)


def test_a_failed_run_of_a_cell_is_counted_and_says_why():
    text = uncork("show", NODELAY, "place=apart", "write=coalesce").stdout
    assert "\nstatus   ok, 6 good runs, 1 failed\n" in text
    assert "\n  round 3 A   failed  server: connection reset by peer\n" in text
    assert "\nNotes\n  -  server: connection reset by peer\n" in text


def test_cells_over_unix_sockets_that_work_or_are_unsupported_and_one_under_tls(
        transports, replies):
    matrix = matrix_of(transports)
    for write in ("nodelay", "cork"):
        cell = cell_choose(matrix, ["transport=unix", f"write={write}"])
        golden_check(f"show-unix-{write}.txt", show_text(matrix, cell, 80))
    cell = cell_choose(replies, ["transport=tcp", "security=gnutls", "reply_write=cork"])
    golden_check("show-tls.txt", show_text(replies, cell, 100))


def test_a_layer_that_shows_no_records_is_said_to(replies):
    cell = cell_choose(replies, ["transport=tcp", "security=ktls", "reply_write=cork"])
    text = show_text(replies, cell, 100)
    assert "security=ktls does not show its records: they are not counted" in text
    assert "records_per_reply" not in text and "TLS records" not in text


def test_an_end_that_told_nothing_has_no_column(tmp_path):
    alone = changed(NODELAY, tmp_path, lambda record: record.pop("server", None))
    for each, heads in ((matrix_of(NODELAY), "client server"), (matrix_of(alone), "client")):
        cell = cell_choose(each, ["place=together", "write=cork"])
        lines = show_text(each, cell, 100).splitlines()
        assert " ".join(lines[lines.index("CPU per message") + 1].split()) == heads


def run_of(**ends):
    """A good run whose ends have these threads."""
    return MeasuredRun(Record({"status": "ok", "words": {"workload": "request"}, **{
        end: {"threads": threads} for end, threads in ends.items()}}))


def test_the_cpus_of_many_threads_are_a_range_and_those_of_a_free_thread_are_free():
    def thread(asked, start, end):
        return {"cpus": {**({"asked": asked} if asked else {}), "start": start, "end": end}}
    frame = options_frame(threads_frame([run_of(
        client=[thread([cpu], cpu, cpu) for cpu in range(500)],
        server=[thread([1], 1, 1), thread(None, 2, 0)])]))
    assert {end: list(frame[end]) for end in ("client", "server")} == {
        "client": ["0 to 499", "0 to 499"], "server": ["1, free", "1, 2, 0"]}


def test_what_tcp_counted_in_a_run_is_the_sum_of_all_threads():
    def thread(segments, rtt):
        return {"tcp_info": {"data_segs_out": {"sum": segments}, "rtt_ns": {"median": rtt}}}
    numbers = threads_frame([run_of(client=[thread(100, 7000), thread(250, 9000)])])
    frame = tcp_frame(numbers, threads_sums(numbers), timed=True)
    assert dict(frame["client"]) == {"data_segs_out": "350", "rtt_ns": 8000}


def test_of_many_words_those_that_vary_are_named():
    matrix = matrix_of(NODELAY)
    many = {f"{letter * 20}": "1" for letter in "abcdefghijkl"}
    cells = {name: replace(cell, words={**cell.words, **many})
             for name, cell in matrix.cells.items()}
    with pytest.raises(UsageError, match=r"no word kind in nodelay \(here vary place, write\)"):
        cells_select(replace(matrix, cells=cells), {"kind": "bars"})


@pytest.mark.parametrize("words, said", [
    ([], "12 cells are meant, name one"),
    (["write=cork"],
     '2 cells are meant, name one: place=together write=cork; place=apart write=cork'),
    (["write=corc"], "no cell of nodelay has write=corc: did you mean cork?"),
    (["wirte=cork"], "no word wirte in nodelay: did you mean write?"),
    (["cork"], '"cork" is not a word'), (["write=cork", "write=more"], "write is given twice"),
])
def test_what_show_refuses(words, said):
    assert said in refused("show", NODELAY, *words)


def test_all_cpu_is_the_median_of_sums_and_not_the_sum_of_medians(tmp_path):
    def split(record):
        """Rounds differ in how much is user time: 2+8, 8+2 and 1+1 us a message, in turn."""
        if record["status"] == "ok":
            parts = ((2000, 8000), (8000, 2000), (1000, 1000))[record["run"]["round"] % 3]
            for end in ("client", "server"):
                (thread,) = record[end]["threads"]
                thread["cpu"] |= {f"{key}_ns": part * thread["messages_sent"]
                                  for key, part in zip(("user", "system"), parts, strict=True)}
    matrix = matrix_of(changed(NODELAY, tmp_path, split))
    text = show_text(matrix, cell_choose(matrix, ["write=nodelay", "place=apart"]), 100)
    assert re.search(r"^ +all +10\.0 us +10\.0 us$", text, re.MULTILINE), text


def test_two_groups_of_rounds_are_told_apart_by_a_count_of_an_emulated_cell_too(tmp_path):
    def split(record):
        """Odd rounds have 30 times as many segments."""
        if record["status"] == "ok" and record["run"]["round"] % 2:
            for thread in record["client"]["threads"]:
                thread["tcp_info"]["data_segs_out"]["sum"] *= 30
    matrix = emulated(matrix_of(changed(NODELAY, tmp_path, split)))
    text = show_text(matrix, cell_choose(matrix, ["write=nodelay", "place=together"]), 100)
    shown = text.partition("\nTwo groups of rounds, by ")[2].splitlines()
    lines = [" ".join(line.split()) for line in shown]
    assert lines[:2] == ["segments_per_message", "3 rounds 4 rounds"]
    assert lines[3:5] == ["segments_per_message 15.00 450.00",
                          "client data segments out per message 15.00 450.00"]
