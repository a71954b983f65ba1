# SPDX-License-Identifier: MIT
"""`cmake --install`: what it installs runs without the checkout, and nothing is written into it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox import TOP, targets_named

BUILD = TOP / "build/release"
SHORT = ("rounds=2", "duration=10ms", "warmup=0s", "place=free", "write=nodelay,cork")
HIDE = 'mount -t tmpfs none "$0" && exec "$@"'  # the checkout, for this command and its children


@dataclass(frozen=True)
class Installed:
    """An installation, and a user with an empty working directory and a home of his own."""

    prefix: Path
    work: Path
    before: tuple[str, ...]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs `uncork`, which does not see the checkout where this system lets a user hide it."""
        hidden: Sequence[str] = ("unshare", "--mount", "--map-root-user", "sh", "-c", HIDE, TOP)
        if subprocess.run([*hidden, "true"], capture_output=True).returncode != 0:
            hidden = ()
        environment = {"HOME": str(self.work.parent), "PATH": os.environ["PATH"], "COLUMNS": "100"}
        return subprocess.run([*hidden, self.prefix / "bin/uncork", *command], cwd=self.work,
                              env=environment, capture_output=True, text=True, timeout=120)

    def said(self, *command: str) -> str:
        """What a command prints that must succeed."""
        done = self.run(*command)
        assert done.returncode == 0, done.stderr
        return done.stdout


def files_below(folder: Path) -> tuple[str, ...]:
    """Each file and folder with the time of its change."""
    return tuple(f"{path.relative_to(folder)} {path.lstat().st_mtime_ns}"
                 for path in sorted(folder.rglob("*")))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """An installation that was moved after `cmake --install --prefix`."""
    folder = tmp_path_factory.mktemp("user")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder / "made"], check=True,
                   capture_output=True)
    (folder / "work").mkdir()
    prefix = (folder / "made").rename(folder / "moved")
    return Installed(prefix, folder / "work", files_below(prefix))


def test_a_run_and_all_that_is_made_of_it_go_to_the_working_directory(installed: Installed) -> None:
    installed.said("run", "quick", *SHORT)
    (result,) = (installed.work / "results").iterdir()
    assert "vs nodelay" in installed.said("table", result.name)
    assert "\nuncork run quick " in installed.said("paste", result.name)
    pictures = installed.said("plot", result.name).splitlines()
    assert pictures and all(name.startswith(f"results/{result.name}/plots/") for name in pictures)
    installed.said("report", result.name)
    assert files_below(installed.prefix) == installed.before


def test_a_program_runs_under_the_library_of_the_installation(installed: Installed) -> None:
    done = installed.run("exec", "--", "sh", "-c", "exit 5")
    assert done.returncode == 5 and "0 calls in 1 process" in done.stderr, done.stderr


def test_what_comes_with_uncork_is_found(installed: Installed) -> None:
    assert installed.said("table", "reference/nodelay").startswith("nodelay: ")
    assert "unix_sndbuf" in installed.said("list")
    names = {line.split()[0] for line in installed.said("setup").splitlines() if line[:2] == "  "}
    assert targets_named() <= names
    assert installed.run("doctor").returncode == 0
    assert files_below(installed.prefix) == installed.before


def test_subjects_are_found_and_what_installs_one_is_a_command_of_the_installation(
        installed: Installed) -> None:
    assert "subject=nbdkit\n" in installed.said("subjects")
    assert ", for subject=nbdkit\n" in installed.said("setup")


def test_messages_name_the_commands_of_an_installation(installed: Installed) -> None:
    done = installed.run("run", "quick", "hosts=none.ini", "-n")
    assert (done.returncode, done.stderr) == (2, "uncork: hosts=none.ini: there is no such file\n")
    (installed.work / "none.ini").touch()
    done = installed.run("run", "quick", "hosts=none.ini", "-n")
    assert done.stderr == ("uncork: hosts=INVENTORY: ansible-core is missing: uncork setup fleet "
                           "installs it\n")
    done = installed.run("setup", "static")
    assert (done.returncode, done.stderr) == (
        1, "uncork: static: it is built in a checkout; a release has static programs "
        "(docs/install.md)\n")
    done = installed.run("run", "quick", "target=vng:6.99", "-n")
    assert "uncork setup kernels 6.99 fetches it" in done.stderr


def test_no_installed_file_names_the_checkout(installed: Installed) -> None:
    named = [path for path in installed.prefix.rglob("*")
             if path.is_file() and str(TOP).encode() in path.read_bytes()]
    assert named == []


def test_all_files_of_the_suite_are_installed_and_nothing_that_was_built_of_them(
    installed: Installed,
) -> None:
    share = installed.prefix / "share/uncork"
    for folder in ("scripts/suite", "scripts/ansible", "scenarios", "plots"):
        ours, theirs = ({str(path.relative_to(top)) for path in (top / folder).rglob("*")
                         if path.is_file()} for top in (TOP, share))
        assert theirs == {name for name in ours if not name.endswith(".pyc")}, folder
    for script in (share / "scripts").rglob("*"):
        if script.is_file() and script.suffix != ".py":
            for name in re.findall(r'^\. "\$UNCORK_TOP/([^"$]+)"', script.read_text(), re.M):
                assert (share / name).exists(), f"{script} reads {name}"


def test_destdir_is_obeyed(installed: Installed, tmp_path: Path) -> None:
    subprocess.run(["cmake", "--install", BUILD, "--prefix", "/opt/uncork"], check=True,
                   capture_output=True, env=os.environ | {"DESTDIR": str(tmp_path)})
    below = tmp_path / "opt/uncork"
    assert {path.relative_to(below) for path in below.rglob("*")} == {
        path.relative_to(installed.prefix) for path in installed.prefix.rglob("*")}


def test_the_version_stands_in_one_place(installed: Installed) -> None:
    found = re.search(r"^project\(uncork VERSION (\S+)", (TOP / "CMakeLists.txt").read_text(), re.M)
    assert found and installed.said("--version").startswith(f"uncork {found[1]} (")
    newest = re.search(r"^## (\S+) - \d{4}-\d\d-\d\d$", (TOP / "CHANGELOG.md").read_text(), re.M)
    assert newest and newest[1] == found[1]


def test_without_a_python_that_fits_the_command_that_installs_one_is_named(
    installed: Installed, tmp_path: Path,
) -> None:
    prefix = shutil.copytree(installed.prefix, tmp_path / "prefix", symlinks=True)
    with (prefix / "share/uncork/scripts/setup/packages").open("a") as table:
        table.write("python:uncork_wanted  python3-wanted  python3-wanted  run\n")
    done = Installed(prefix, installed.work, ()).run("list")
    top = prefix / "share/uncork"
    assert done.returncode == 1 and done.stderr.splitlines()[0].endswith(
        f"uncork_wanted was found: run {top}/scripts/setup/target run, which installs it")
