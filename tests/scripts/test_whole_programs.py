# SPDX-License-Identifier: MIT
"""The scenarios of real clients, in a short form: qemu_sndbuf, nbd_copy, http_small."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from conftest import Uncork, records_of
from suite.observe.metrics import metrics_compute
from suite.result.record import Record

pytestmark = pytest.mark.usefixtures("elsewhere")


def figures_of(uncork: Uncork, programs: str, *words: str) -> dict[str, dict[str, float | None]]:
    """The metrics of each cell of one round, by its words that vary."""
    if absent := [name for name in programs.split() if shutil.which(name) is None]:
        pytest.skip(f"{', '.join(absent)} missing: uncork setup")
    done = uncork.run("run", *words, "rounds=1", "-o", "r")
    assert done.returncode == 0, done.stderr
    return {record["run"]["cell"]: metrics_compute(Record(record))
            for record in records_of(Path("r"))}


def of(figures: dict[str, dict[str, float | None]], *words: str) -> dict[str, float]:
    """The metrics of the one cell that has these words."""
    (found,) = [figures[cell] for cell in figures if {*words} <= {*cell.split()}]
    return {key: value for key, value in found.items() if value is not None}


def test_a_small_send_buffer_of_the_end_that_sends_costs_its_cpu(uncork: Uncork) -> None:
    figures = figures_of(uncork, "qemu-nbd qemu-img hyperfine", "qemu_sndbuf", "qemu-nbd.size=64M",
                         "load=qemu-img-null,qemu-img-write",
                         "arm=default,8K,client-8K,server-8K,rcvbuf-8K", "place=free")
    for load, slow, others in (
            ("qemu-img-null", ("8K",), ("client-8K", "rcvbuf-8K")),
            ("qemu-img-write", ("8K", "client-8K"), ("server-8K", "rcvbuf-8K"))):
        cpu = {arm: sum(of(figures, f"load={load}", f"arm={arm}")[key]
                        for key in ("load_cpu", "subject_cpu"))
               for arm in ("default", *slow, *others)}
        assert min(cpu[arm] for arm in slow) > max(cpu[arm] for arm in ("default", *others)), cpu


def test_nbdcopy_reads_into_a_hash(uncork: Uncork) -> None:
    figures = figures_of(uncork, "qemu-nbd nbdcopy hyperfine", "qemu_sndbuf", "qemu-nbd.size=16M",
                         "load=nbdcopy,nbdcopy-hash", "arm=default,2M")
    assert len(figures) == 4
    assert of(figures, "load=nbdcopy-hash", "arm=2M")["load_cpu"] > of(
        figures, "load=nbdcopy", "arm=2M")["load_cpu"]


@pytest.mark.parametrize("words", [("arm=nbdcopy", "security=plain,gnutls"),
                                   ("arm=qemu-img,fio", "security=plain",
                                    "uncork.reply_write=nodelay,cork")], ids=" ".join)
def test_real_clients_of_nbd_take_replies_of_every_strategy(uncork: Uncork,
                                                            words: tuple[str, ...]) -> None:
    figures = figures_of(uncork, "nbdcopy qemu-img fio hyperfine", "nbd_copy", "uncork.size=4M",
                         *words)
    assert len(figures) == (8 if "gnutls" in words[1] else 4)
    assert all(of(figures, *cell.split())["subject_cpu"] > 0 for cell in figures)


def test_the_parallel_reader_and_writer_is_unsupported_until_it_is_named(uncork: Uncork) -> None:
    if shutil.which("aio-parallel-load"):
        pytest.skip("aio-parallel-load is installed")
    words = ("run", "nbd_copy", "arm=parallel", "-n")
    assert re.search(r"# unsupported: .*: aio-parallel-load is in no package: "
                     r"aio-parallel-load\.program=PATH names it$", uncork.run(*words).stdout, re.M)
    assert "# unsupported" not in uncork.run(*words, "aio-parallel-load.program=cat").stdout
    assert "aio-parallel-load is in no package" in uncork.run("subjects").stdout


def test_of_wrk_cpu_is_told_by_the_requests_that_it_made(uncork: Uncork) -> None:
    figures = figures_of(uncork, "wrk hyperfine", "http_small", "op=get:1K",
                         "uncork.reply_write=writev,nagle")
    joined, held = (of(figures, f"uncork.reply_write={write}") for write in ("writev", "nagle"))
    for one in (held, joined):
        assert one["messages_per_second"] * one["time"] * one["server_cpu_per_message"] == (
            pytest.approx(one["subject_cpu"]))
        assert one["client_cpu_per_message"] * one["subject_cpu"] == pytest.approx(
            one["server_cpu_per_message"] * one["load_cpu"])
    # 8 connections, each waits for the delayed acknowledgement of the head, 40 ms
    assert held["messages_per_second"] < 8 / 0.04 < joined["messages_per_second"]
    assert "messages_per_second" in uncork.run("table", "r").stdout
