# SPDX-License-Identifier: MIT
"""Real kernels in real guests: what only another kernel shows. Run by `scripts/test kernels`, which
fetches them.

An emulated guest crashes now and then: what crashed twice is skipped, with the reason.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "scripts"))

from suite.base.client import client_place  # noqa: E402
from suite.base.errors import Failure, UsageError  # noqa: E402
from suite.base.process import process_run  # noqa: E402
from suite.places.vng import Guest, Vng  # noqa: E402

OLD, NEW = "vng:6.1", "vng:newest"
BOOTED_SECONDS = 240  # for tests in an emulated guest, whose machine is busy
RUN_SECONDS = 800  # eight boots, of 10 s to a minute as the machine is busy
PYTEST = ("UNCORK_BIN=build/release/bin PYTHONPATH=scripts "
          f"{sys.executable} -B -P -m pytest -q -rfEs -p no:cacheprovider tests/loopback/")
OF_KTLS = {"unit": "build/release/tests/unit-ktls", "loopback": f"{PYTEST}test_ktls.py",
           "serve": f"{PYTEST}test_serve.py -k ktls"}
UNSUPPORTED = "unsupported"  # a gate of uncork bisect
CELLS = ("read=recv,uring-bundle", "message=15x16", "duration=100ms", "warmup=20ms", "rounds=2")


def guest_of(value: str) -> Guest:
    """The guest of a target; the test is skipped, and says why, where it cannot be had."""
    try:
        return Vng(value, client_place()).guest
    except (Failure, UsageError) as error:
        pytest.skip(str(error))


def guest_run(guest: Guest, script: str) -> subprocess.CompletedProcess[str]:
    """What a script in this tree does in a guest, of two attempts the one that came to its end."""
    for _ in range(2):
        try:
            here = f"cd {shlex.quote(str(TOP))} && {{ {script}; }}; echo ended $?"
            done = process_run(guest.boot(here, f"--rodir={TOP}"), "", BOOTED_SECONDS)
        except Failure:
            continue
        if re.search(r"^ended \d+$", done.stdout, re.MULTILINE):
            return done
    pytest.skip(f"Linux {guest.image.release} has crashed or hung twice")


@pytest.mark.parametrize("command", OF_KTLS.values(), ids=OF_KTLS)
def test_the_kernels_own_tls_is_what_the_tests_say(command: str) -> None:
    done = guest_run(guest_of(NEW), f"modprobe tls; {command}")
    said = done.stdout + done.stderr
    print(said)  # for the log
    assert "ended 0" in done.stdout, said
    assert re.search(r"\d+ passed|PASSED *\] *\d+ test", said, re.IGNORECASE), said
    assert not re.search(r"\d+ skipped|SKIPPED *\] *[1-9]", said, re.IGNORECASE), said


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result of two kernels in the same rounds."""
    old, new = guest_of(OLD), guest_of(NEW)
    if old.image.release == new.image.release:
        pytest.skip(f"there is no newer kernel here than {old.image.release}")
    folder = tmp_path_factory.mktemp("kernels") / "result"
    done = subprocess.run([str(TOP / "scripts/uncork"), "run", f"target={OLD},{NEW}", *CELLS, "-o",
                           str(folder)], capture_output=True, text=True, timeout=RUN_SECONDS)
    if "twice" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return folder


def records_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


def table_of(folder: Path) -> str:
    """What `uncork table` prints."""
    return subprocess.run([str(TOP / "scripts/uncork"), "table", str(folder)], capture_output=True,
                          text=True, check=True,
                          env=os.environ | {"COLUMNS": "100"}, timeout=RUN_SECONDS).stdout


def test_what_only_one_kernel_has_is_unsupported_in_the_other_with_the_reason(
        compared: Path) -> None:
    found = {(record["words"]["target"], record["words"]["read"]): record["status"]
             for record in records_of(compared)}
    assert found == {(OLD, "recv"): "ok", (NEW, "recv"): "ok",
                     (OLD, "uring-bundle"): "unsupported", (NEW, "uring-bundle"): "ok"}
    assert "fills only one buffer at a time (Linux 6.10)" in " ".join(table_of(compared).split())


def test_boots_alternate_and_each_is_a_machine_of_its_own(compared: Path) -> None:
    runs = [record for record in records_of(compared) if record["status"] == "ok"]
    boots = dict.fromkeys((run["run"]["round"], run["words"]["target"], run["client"]["host"])
                          for run in runs)
    assert [(number, target) for number, target, _ in boots] == [
        (0, NEW), (0, OLD), (1, OLD), (1, NEW), (2, NEW), (2, OLD)]
    hosts = json.loads((compared / "hosts.json").read_text())
    kernels = [hosts[host]["kernel"] for _, _, host in boots]
    assert len({host for *_, host in boots}) == len(boots)
    assert [kernel.startswith("6.1.") for kernel in kernels] == [
        False,
        True,
        True,
        False,
        False,
        True,
    ]


def test_nothing_is_said_of_how_fast_an_emulated_kernel_is(compared: Path) -> None:
    assert not re.search(r"\d\.\d+x", table_of(compared))


def test_the_commit_that_lost_bundles_is_found_by_a_boot_a_step(tmp_path: Path) -> None:
    new, old = guest_of(NEW), guest_of(OLD)
    if old.image.release == new.image.release:
        pytest.skip(f"there is no newer kernel here than {old.image.release}")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for number, guest in enumerate((new, new, old, old)):
        if number == 0:
            subprocess.run([*git, "init", "-q"], check=True)
        (tmp_path / "image").write_text(f"{guest.image.root} {guest.image.path} {number}\n")
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", f"change {number}"], check=True)
        subprocess.run([*git, "tag", f"c{number}"], check=True)
    build = "read -r root image _ <image; rm -rf lib; cp -a $root/lib . && cp $image bzImage"
    done = subprocess.run(
        [str(TOP / "scripts/uncork"), "bisect", "c0", "c3", "--tree", str(tmp_path), "--build",
         build, "--fail-if", UNSUPPORTED, "target=vng:{tree}/bzImage", "read=uring-bundle",
         "message=15x16"], capture_output=True, text=True, timeout=RUN_SECONDS,
        env=os.environ | {"UNCORK_RESULTS": str(tmp_path / "results")})
    if "twice" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    assert re.search(r"^# first bad commit: .* change 2$", done.stdout, re.MULTILINE), done.stdout
    assert "unsupported: read=uring-bundle" in done.stdout
