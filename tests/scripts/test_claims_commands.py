# SPDX-License-Identifier: MIT
"""`uncork claims`: reports of results, and what runs, from a page to the last replay."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from answers import NODELAY, ROOT, golden_check, refused
from answers import uncork as uncork_in
from conftest import Uncork
from suite.base.client import claim_names
from suite.scenario.scenario import Claim, scenario_load, scenario_text
from test_claims_replayed import CLAIMS, FILES, HEAD, ORIGIN


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder as `claims run` leaves it: one claim that ran, one that could not."""
    folder = tmp_path / "replayed"
    result = Path(shutil.copytree(NODELAY, folder / "nodelay"))
    scenario = scenario_load(result / "scenario.toml")
    claims = (Claim("every write is a segment", "segments_per_message(write=nodelay) == 15",
                    "count"),
              Claim("Nagle waits", "time_per_message(write=nagle place=apart) >= 35ms", "stall"),
              Claim("a cork takes half of the time",
                    "time_per_message(write=cork) / time_per_message(write=nodelay) ~ 0.52",
                    "ratio"))
    (result / "scenario.toml").write_text(scenario_text(replace(
        scenario, origin=ORIGIN, claims=claims, disputes=("qemu-nbd-tls-nodelay",))))
    (folder / "claims.json").write_text(json.dumps({
        "nodelay": "", "nginx-tcp-nopush": "nginx is missing"}))
    (folder / "nginx-tcp-nopush").mkdir()
    (folder / "nginx-tcp-nopush" / "scenario.toml").write_text(
        scenario_text(scenario_load(CLAIMS / "nginx-tcp-nopush.toml")))
    return folder


def test_the_report_has_published_measured_verdict_and_what_differs(results):
    done = uncork_in("claims", "report", results)
    golden_check("claims/report.txt", done.stdout)
    assert done.returncode == 3  # one could not run


def test_the_report_in_json_is_read_again_and_two_systems_stand_side_by_side(results, tmp_path):
    told = uncork_in("claims", "report", results, "--json").stdout
    kept = tmp_path / "other.json"
    kept.write_text(told.replace("6.18.0-test", "6.12.1"))
    assert [row["verdict"] for row in json.loads(told)["systems"][0]["claims"]["nodelay"]["rows"]
            ] == ["reproduced", "reproduced", "depends on place"]
    golden_check("claims/systems.md", uncork_in("claims", "report", results, kept, "--md").stdout)
    lines = uncork_in("claims", "report", kept, "--csv").stdout.splitlines()
    # of the three that ran two are about two places
    assert len(lines) == 1 + 5 + 2 and "6.12.1" in lines[1] and ",together,15" in lines[1]


def test_runs_of_one_system_are_told_apart_and_say_where_they_differ(results, tmp_path):
    told, again = uncork_in("claims", "report", results, "--json").stdout, tmp_path / "again.json"
    again.write_text(told.replace("depends on place", "reproduced"))
    text = " ".join(uncork_in("claims", "report", results, again, "--md").stdout.split())
    assert "Linux 6.18.0-test, Invented CPU @ 3.00GHz (2): again: 3 reproduced" in text
    assert ("agree: 2 of 3 comparisons that more than one of them decided; they differ on nodelay: "
            "a cork takes half of the time: depends on place and reproduced" in text)


def test_an_archive_of_results_is_read_as_the_folder_that_is_in_it(results, tmp_path):
    archive, cache = tmp_path / "kept.tar.xz", {"UNCORK_CACHE": str(tmp_path / "cache")}
    subprocess.run(["tar", "-cJf", archive, "-C", results.parent, results.name], check=True)
    folder, packed = (uncork_in("claims", "report", source, "--csv", **cache)
                      for source in (results, archive))
    assert packed.stdout == folder.stdout and packed.returncode == folder.returncode
    block = uncork_in("paste", archive / "nodelay", "write=nodelay", "write=writev", **cache)
    assert ("claim: every write is a segment: 15 there, together 15; apart 15 here: reproduced"
            in " ".join(block.stdout.split()))
    (tmp_path / "block").write_text(block.stdout)
    assert "the same: all" in uncork_in(
        "verify", tmp_path / "block", archive / "nodelay", **cache).stdout
    assert "no such folder in" in refused("table", archive / "nodelai", **cache)


def test_the_block_of_a_claim_has_the_figures_that_it_names_and_says_what_differs(
        results, tmp_path):
    block = uncork_in("paste", results / "nodelay").stdout
    assert [line for line in block.splitlines() if line.endswith(" is better)")] == [
        "Segments per message (lower is better)", "Time per message, us (lower is better)"]
    text = " ".join(block.split())
    assert "published: a title (somebody, 2020): a commit, read first hand" in text
    assert "origin: kernel 5.0 there, 6.18.0-test here" in text
    (tmp_path / "block").write_text(block)
    done = uncork_in("verify", tmp_path / "block", results / "nodelay")
    assert done.returncode == 0 and "the same: all" in done.stdout


def test_a_claim_that_was_not_seen_stands_with_what_differs_and_is_status_3(results):
    result = results / "nodelay" / "scenario.toml"
    result.write_text(result.read_text().replace("~ 0.52", "~ 2.5").replace(
        'kernel = "5.0"', 'fidelity = "in kind"\ndiffers = "a longer head"'))
    done = uncork_in("claims", "report", results / "nodelay")
    assert done.returncode == 3 and "contradicted" not in done.stdout
    assert re.search(r"not seen here: a cork takes half of the time: .*; what differs: a whole "
                     r"program there, its socket work here; a longer head",
                     " ".join(done.stdout.split()))


def test_every_verdict_of_a_report_is_held_against_its_results(results, tmp_path):
    report = tmp_path / "report.json"
    told = uncork_in("claims", "report", results, "--json").stdout
    report.write_text(told)
    done = uncork_in("verify", report, results)
    assert done.returncode == 0 and "the same: all 5 verdicts" in done.stdout
    report.write_text(told.replace("depends on place", "reproduced"))
    done = uncork_in("verify", report, results)
    assert done.returncode == 1 and "1 of" in done.stdout
    assert "verdict is 'depends on place' and not 'reproduced'" in done.stdout


def test_the_status_of_a_report_is_that_of_its_verdicts(results):
    index = json.loads((results / "claims.json").read_text())
    del index["nodelay"]
    (results / "claims.json").write_text(json.dumps(index))
    assert uncork_in("claims", "report", results).returncode == 4
    result = results / "nodelay" / "scenario.toml"
    result.write_text(result.read_text().replace("== 15", "== 14"))
    assert uncork_in("claims", "report", results / "nodelay").returncode == 1


def test_what_is_no_result_of_a_claim_is_one_line(results, tmp_path):
    assert "its scenario has no [origin]" in refused("claims", "report", NODELAY)
    (tmp_path / "none").mkdir()
    assert "neither a result nor a folder of uncork claims run" in refused(
        "claims", "report", tmp_path / "none")
    (tmp_path / "x.json").write_text("{}")
    assert "not the output of uncork claims report" in refused(
        "claims", "report", tmp_path / "x.json")
    (results / "claims.json").write_text("{")
    assert "damaged" in refused("claims", "report", results, status=1)


def test_every_claim_can_be_planned_and_the_list_says_how_long_it_takes(uncork: Uncork):
    done = uncork.run("claims", "list", "--json")
    listed = json.loads(done.stdout)
    assert [one["name"] for one in listed] == claim_names()
    assert all(one["able"] == (one["seconds"] > 1) for one in listed)
    text = uncork.run("claims", "list", "syq-header-body").stdout
    assert text.startswith("syq-header-body\n  asks    ") and "1 of 1 claim can run" in text
    whole = uncork.run("claims", "list", "redis-unix-50pct").stdout
    assert "here    cannot run here" in whole or re.search(r"and \d+ runs of unknown time\n", whole)


def test_a_claim_about_a_cell_that_does_not_run_is_refused(uncork: Uncork, tmp_path: Path):
    path = tmp_path / "claim.toml"
    text = (CLAIMS / "bitcoin-rs-writev.toml").read_text()
    path.write_text(text.replace("stall_per_message(arm=nagle)", "stall_per_message(arm=nagel)"))
    assert "arm=nagel was not run, only arm=five," in uncork.refused("claims", "list", str(path))


def test_a_claim_that_is_not_there_names_the_nearest(uncork: Uncork):
    assert "did you mean syq-header-body?" in uncork.refused("claims", "run", "syq-header-bodi")
    assert "which claims?" in uncork.refused("claims", "run", "rounds=2")


def test_the_page_can_be_followed_word_by_word(uncork: Uncork, tmp_path: Path):
    page = (ROOT / "docs/claims.md").read_text()
    [mine] = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "mine.toml").write_text(mine)
    blocks = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert sum(block.count("uncork claims") for block in blocks) == 7
    environment = uncork.environment | {"PATH": f"{ROOT / 'scripts'}:{os.environ['PATH']}"}
    said = []
    for block in blocks:
        done = subprocess.run(["bash", "-euc", block], cwd=tmp_path, env=environment, text=True,
                              capture_output=True)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert f"{len(FILES)} claims" in said[0] and "three writes are three segments  3" in said[1]
    assert said[2].count("2 reproduced") == 2


MINE = ('[fixed]\nworkload = "request"\nmessage = "15x2"\nreply = "2"\n[sweep]\n'
        'write = ["nodelay", "coalesce"]\n[run]\nrounds = 2\nduration = "10ms"\n'
        'warmup = "2ms"\n[[claim]]\nsays = "a call each"\nkind = "count"\n'
        'that = "sends_per_message(write=nodelay) == 15"\n')


def processes_of(folder: Path) -> list[str]:
    """The command lines that name a folder."""
    return [text for path in Path("/proc").glob("[0-9]*/cmdline")
            for text in [path.read_text(errors="replace") if path.exists() else ""]
            if str(folder) in text]


def test_a_signal_ends_the_replay_that_runs_and_says_how_to_go_on(
        uncork: Uncork, tmp_path: Path):
    (tmp_path / "mine.toml").write_text(HEAD + MINE.replace("rounds = 2", "rounds = 900"))
    folder = tmp_path / "out"
    with uncork.start("claims", "run", str(tmp_path / "mine.toml"), "-o", str(folder)) as child:
        while "round 1 of" not in child.stderr.readline():
            assert child.poll() is None
        child.terminate()
        told = child.stderr.read()
    assert child.returncode == 128 + signal.SIGTERM and not processes_of(folder)
    assert f"{folder} keeps what was measured so far; the same command resumes it" in told


def test_a_file_of_ones_own_runs_and_is_judged_and_what_cannot_run_says_why(
        uncork: Uncork, tmp_path: Path):
    words = MINE
    mine, never = tmp_path / "mine.toml", tmp_path / "never.toml"
    mine.write_text(HEAD + words)
    never.write_text(HEAD + words.replace('"coalesce"', '"more"').replace(
        'reply = "2"', 'reply = "2"\nsecurity = "openssl"').replace(
        '["nodelay", "more"]', '["more", "writev"]').replace(
        "write=nodelay)", "write=more)"))
    done = uncork.run("claims", "run", str(mine), "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "a call each" in done.stdout and "reproduced" in done.stdout
    again = uncork.run("claims", "run", str(mine), "-o", str(tmp_path / "out"))
    assert again.returncode == 0
    other = uncork.run("claims", "run", str(mine), "rounds=3", "-o", str(tmp_path / "out"))
    assert other.returncode == 2 and "has another plan" in other.stderr and not other.stdout
    mine.write_text((HEAD + words).replace("== 15", "== 1"))
    assert "mine.toml has changed since" in uncork.refused(
        "claims", "run", str(mine), "-o", str(tmp_path / "out"))
    assert "name one, " in uncork.refused("table", str(tmp_path / "out"))
    lacking = uncork.run("claims", "run", str(never), "-o", str(tmp_path / "lacking"))
    assert lacking.returncode == 4 and "cannot run here: a call each:" in lacking.stdout


@pytest.mark.parametrize("options", [[], ["--keep-going"]])
def test_a_replay_with_failed_runs_is_judged_and_fails(
        misbehave: Callable[[str], Uncork], tmp_path: Path, options: list[str]):
    (tmp_path / "mine.toml").write_text(HEAD + MINE)
    uncork = misbehave('echo x >> "$STATE/count"; [ "$(wc -l < "$STATE/count")" = 1 ] && exit 1; '
                       'exec "$REAL" "$@"')
    done = uncork.run("claims", "run", str(tmp_path / "mine.toml"), *options, "-o",
                      str(tmp_path / "out"))
    assert done.returncode == (0 if options else 1), done.stderr
    assert "reproduced" in done.stdout
    assert ("uncork: mine: 1 of 9 runs failed: 1 of " in done.stderr) is not options
