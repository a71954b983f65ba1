# SPDX-License-Identifier: MIT
"""Reference results: read by name, never written, and all examples of the documents are theirs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from suite.base import ROOT
from suite.result.files import reference_names

README = ROOT / "scripts" / "readme"


def readme_check(*pages: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([README, "--check", *pages], capture_output=True, text=True, timeout=600)


def pages_write(folder: Path, *texts: str) -> list[Path]:
    """Pages of the name whose sentences are checked, each in a folder of its own."""
    folders = [folder / str(number) for number in range(len(texts))]
    for one in folders:
        one.mkdir()
    return [page_write(one / "README.md", text) for one, text in zip(folders, texts, strict=True)]


def page_write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", reference_names())
def test_every_reference_result_reads_as_a_finished_result(uncork, tmp_path, name):
    done = uncork.run("table", name, UNCORK_CACHE=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{name.partition('/')[2]}: ") and not done.stderr
    assert " of " not in next(line for line in done.stdout.splitlines()
                              if line.startswith("rounds"))


def test_there_is_a_reference_result_of_each_scenario_that_documents_quote():
    assert reference_names() == [f"reference/{name}" for name in (
        "nbd_cork", "nbdkit", "nodelay", "qemu_nbd", "unix_sndbuf", "uring_bundles")]


def test_the_list_names_every_reference_result_with_its_question(uncork):
    lines = uncork.run("list").stdout.splitlines()
    for name in reference_names():
        assert any(line.split()[:1] == [name] and len(line.split()) > 4 for line in lines), name


def test_a_reference_result_with_a_wrong_name_is_refused_and_the_nearest_is_named(uncork, tmp_path):
    done = uncork.run("table", "reference/nodelai", UNCORK_CACHE=str(tmp_path))
    assert (done.returncode, done.stderr) == (2, (
        "uncork: reference/nodelai: no such folder, and no reference result: "
        "did you mean reference/nodelay?\n"))


def test_what_is_made_of_a_reference_result_goes_into_the_working_directory(uncork, tmp_path):
    done = subprocess.run(uncork.command("export", "reference/nodelay", "place=together"),
                          env=uncork.environment | {"UNCORK_CACHE": str(tmp_path / "cache")},
                          cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert {Path(line).parent for line in done.stdout.splitlines()} == {Path("hgrm")}
    folder, = (tmp_path / "cache" / "reference").glob("*/nodelay")
    assert sorted(path.name for path in folder.iterdir()) == [
        "hosts.json", "plan.json", "records.jsonl", "scenario.toml"]


@pytest.mark.parametrize("options", [["--more"], []])
def test_a_run_never_goes_on_with_a_reference_result(uncork, tmp_path, options):
    done = uncork.run("run", *options, "reference/nodelay", UNCORK_CACHE=str(tmp_path))
    assert (done.returncode, done.stderr) == (2, (
        "uncork: reference/nodelay is a reference result, which is only read: "
        "a run of a scenario writes a result of your own\n"))


def test_a_reference_result_that_cannot_be_unpacked_is_one_line(uncork, tmp_path):
    page_write(tmp_path / "file", "")
    done = uncork.run("table", "reference/nodelay", UNCORK_CACHE=str(tmp_path / "file"))
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"uncork: {ROOT}/results/reference/nodelay.tar.xz: cannot be unpacked into ")
    assert done.stderr.endswith("; UNCORK_CACHE=FOLDER names another place\n")


def test_examples_of_all_documents_are_as_the_reference_results_have_them():
    done = readme_check()
    assert done.returncode == 0, done.stdout + done.stderr


EXAMPLE = """# A page

```
$ uncork table reference/nodelay place=together | grep ^together
{}```
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    """A page with one example, as the script renders it."""
    path = page_write(tmp_path_factory.mktemp("page") / "README.md", EXAMPLE.format(""))
    subprocess.run([README, path], check=True, timeout=60, stdout=subprocess.DEVNULL)
    return path.read_text()


def test_a_page_is_rendered_once_and_the_check_names_the_figures_that_no_example_has(
        page, tmp_path):
    assert "15.00" in page
    sentences = ("Corking makes 15.00 % of something.", "It is 7.3x faster.", "It waits 44 ms.")
    whole, unproved = pages_write(tmp_path, "\n".join([page, *sentences[:1]]),
                                  "\n".join([page, *sentences]))
    done = readme_check(whole)
    assert (done.returncode, done.stdout) == (0, "")
    done = readme_check(unproved)
    assert done.returncode == 1 and done.stdout.splitlines() == [
        f'{unproved}: no example of the page has the figure of "{told}"'
        for told in ("7.3x", "44 ms")]


def test_the_check_fails_where_a_figure_a_word_or_the_shape_of_an_example_differs(page, tmp_path):
    head, mark, rest = page.partition("grep ^together\n")
    changes = {"15.00": "14.00", "nodelay": "no_delay", "\n```\n": "\nanother line\n```\n"}
    pages = pages_write(tmp_path, *(head + mark + rest.replace(old, new, 1)
                                    for old, new in changes.items()))
    done = readme_check(*pages)
    assert done.returncode == 1
    for path, new in zip(pages, changes.values(), strict=True):
        _, _, shown = done.stdout.partition(f"--- {path}")
        assert new.strip("\n`") in shown.partition("\n---")[0]


def test_a_table_of_the_bench_is_rendered_from_its_samples(tmp_path):
    samples = ROOT / "results" / "reference" / "bench.jsonl.xz"
    command = f"bench/run --read {samples} --markdown null-request"
    path = page_write(tmp_path / "page.md", f"<!-- {command} -->\n<!-- end -->\n")
    assert subprocess.run([README, path], timeout=60, stdout=subprocess.DEVNULL).returncode == 0
    page = path.read_text()
    assert "| null-request | together | time_per_message |" in page and "| machine | " in page
    assert readme_check(path).returncode == 0
    done = readme_check(page_write(path, page.replace("time_per_message", "time")))
    assert done.returncode == 1 and "+| null-request | together | time_per_message |" in done.stdout


def test_the_check_fails_where_the_data_of_a_picture_differ(tmp_path):
    command = "uncork plot reference/nodelay kind=bars metric=time_per_message"
    drawn = tmp_path / "drawn"
    subprocess.run([ROOT / "scripts" / "uncork", *command.split()[1:], "-o", drawn], cwd=ROOT,
                   check=True, timeout=120, env=os.environ, stdout=subprocess.DEVNULL)
    stem = ROOT / "docs" / "pictures" / "of-a-test"
    data, = drawn.glob("*.dat")
    page = page_write(tmp_path / "page.md",
                      f"<!-- {command} -->\n![bars](docs/pictures/of-a-test.png)\n")
    try:
        shutil.copy(data, stem.with_suffix(".dat"))
        assert readme_check(page).returncode == 0
        stem.with_suffix(".dat").write_text(data.read_text().replace("cork", "kork"))
        done = readme_check(page)
        assert done.returncode == 1 and "-" in done.stdout and "kork" in done.stdout
    finally:
        stem.with_suffix(".dat").unlink(missing_ok=True)
