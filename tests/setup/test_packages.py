# SPDX-License-Identifier: MIT
"""The table of packages, and what happens with what is missing. Package managers only pretend."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from sandbox import TOP, Sandbox, path_without, targets_named

WANTED = "command:uncork-wanted  wanted+wanted-dev  wanted-devel  build"
EVERYWHERE = ("build", "run", "test")
PURPOSES = (*EVERYWHERE, "optional", "portability", "package", "root", *targets_named())
ENSURE = 'packages_ensure build run; echo "python is $PYTHON"'


def table_rows() -> list[list[str]]:
    """The columns of each row of the real table."""
    lines = (TOP / "scripts/setup/packages").read_text().splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("row", table_rows(), ids=lambda row: row[0])
def test_each_row_has_a_probe_both_names_and_a_purpose(row: list[str]) -> None:
    probe, apt, dnf, purpose = row
    assert re.fullmatch(r"(command|pkg-config|python|link):[^:\s]+(:-\S+)?", probe)
    for names in (apt, dnf):
        assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]+", name) for name in names.split("+"))
    assert set(purpose.split("+")) <= set(PURPOSES)


def test_no_probe_stands_twice() -> None:
    probes = [row[0] for row in table_rows()]
    assert len(probes) == len(set(probes))


@pytest.mark.parametrize(("purposes", "missing"),
                         [("vng", "wanted"), ("run portability", "wanted"), ("port", ""),
                          ("run", "")])
def test_a_package_that_several_need_is_missing_for_each_of_them(
    sandbox: Sandbox, purposes: str, missing: str
) -> None:
    sandbox.table_write("command:uncork-wanted  wanted  wanted  vng+portability")
    done = sandbox.shell(f'packages_missing {purposes}; echo "$MISSING_NAMES"')
    assert done.stdout == f"{missing}\n"


@pytest.mark.parametrize("row",
                         [row for row in table_rows() if {*row[-1].split("+")} & {*EVERYWHERE}],
                         ids=lambda row: row[0])
def test_each_probe_holds_where_tests_run(sandbox: Sandbox, row: list[str]) -> None:
    script = f"PACKAGES_PYTHON_FITS=''; probe '{row[0]}' && echo there"
    assert sandbox.shell(script).stdout == "there\n"


@pytest.mark.parametrize("probe", [
    "command:uncork-nothing", "command:sort>=9999.1", "pkg-config:uncork-nothing",
    "pkg-config:libuv>=9999", "link:uncork-nothing", "link:cc:-luncork-nothing",
    "python:uncork_nothing"])
def test_a_probe_says_no(sandbox: Sandbox, probe: str) -> None:
    done = sandbox.shell(f"PACKAGES_PYTHON_FITS=''; probe '{probe}' || echo missing")
    assert (done.stdout, done.stderr) == ("missing\n", "")


def test_nothing_is_called_where_all_is_there(sandbox: Sandbox) -> None:
    done = sandbox.shell(ENSURE)
    assert done.returncode == 0
    assert done.stdout.startswith("python is /")
    assert sandbox.calls_read() == []


@pytest.mark.parametrize("sudo", [True, False])
def test_without_root_the_one_command_is_printed(sandbox: Sandbox, sudo: bool) -> None:
    sandbox.command_add("id", "echo 1000")
    sandbox.table_write(WANTED)
    path = path_without(sandbox.bin.parent / "path", "sudo")
    if not sudo:
        (sandbox.bin / "sudo").unlink()
    done = sandbox.run("scripts/demo", path=path)
    command = ("apt-get update && DEBIAN_FRONTEND=noninteractive apt-get -o "
               "DPkg::Lock::Timeout=120 install -y --no-install-recommends wanted wanted-dev")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "uncork: these packages are missing, and installing them needs root: wanted wanted-dev",
        "An administrator must run, once:", "",
        f"  {'sudo sh' if sudo else 'su'} -c '{command}'", ""]
    assert sandbox.calls_read() == []


def test_a_real_user_without_root_is_told_the_same(sandbox: Sandbox) -> None:
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv to become another user")
    sandbox.table_write(WANTED)
    sandbox.calls.chmod(0o666)
    for name in ("demo", "test"):
        shutil.chown(sandbox.tree, 65534, 65534)
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        done = sandbox.run(*nobody, sandbox.tree / "scripts" / name)
        assert done.returncode == 1
        assert "needs root: wanted wanted-dev\n" in done.stderr
        assert sandbox.calls_read() == []


def test_root_installs_only_what_is_missing_after_one_update(sandbox: Sandbox) -> None:
    sandbox.command_add("id", "echo 0")
    other = ("command:sh  never  never  build", "command:uncork-later  later  later  test")
    sandbox.table_write(WANTED, *other)
    note = f'echo "$DEBIAN_FRONTEND" >>"{sandbox.calls}"'
    make = f'cp /bin/true "{sandbox.bin}/uncork-wanted"'
    sandbox.recorder_add("apt-get", f'case "$*" in *install*) {note}; {make} ;; esac')
    done = sandbox.shell(ENSURE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("packages    installing wanted wanted-dev (log: ")
    expected = [
        "apt-get update",
        "apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends wanted wanted-dev",
        "noninteractive"]
    assert sandbox.calls_read() == expected
    assert sandbox.shell(ENSURE).returncode == 0
    assert sandbox.calls_read() == expected


def test_dnf_is_used_where_there_is_no_apt(sandbox: Sandbox) -> None:
    sandbox.command_add("id", "echo 0")
    sandbox.table_write(WANTED)
    (sandbox.bin / "apt-get").unlink()
    sandbox.recorder_add("dnf", f'cp /bin/true "{sandbox.bin}/uncork-wanted"')
    path = path_without(sandbox.bin.parent / "path", "apt-get", "dnf")
    done = sandbox.shell(ENSURE, path=path)
    assert done.returncode == 0, done.stderr
    assert sandbox.calls_read() == ["dnf install -y --setopt=install_weak_deps=False wanted-devel"]


def test_a_failed_installation_shows_its_log(sandbox: Sandbox) -> None:
    sandbox.command_add("id", "echo 0")
    sandbox.table_write(WANTED)
    sandbox.recorder_add("apt-get", "echo E: the mirror is asleep >&2; exit 100")
    done = sandbox.run("scripts/demo")
    assert done.returncode == 1
    assert "  | E: the mirror is asleep\n" in done.stderr
    assert done.stderr.endswith("(is the network there?); whole log: build/logs/packages.log\n")


def test_an_installation_that_gives_too_little_is_told(sandbox: Sandbox) -> None:
    sandbox.command_add("id", "echo 0")
    sandbox.table_write(WANTED)
    sandbox.recorder_add("apt-get")
    done = sandbox.run("scripts/demo")
    assert done.returncode == 1
    asked = "scripts/setup/packages requires: command:uncork-wanted"
    lacks = f"uncork: this machine lacks what {asked}\n"
    assert done.stderr == lacks


def wheel_write(folder: Path, module: str) -> None:
    """The smallest package that pip installs."""
    folder.mkdir()
    info = f"{module}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n"
    about = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    names = (f"{module}.py", f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD")
    with zipfile.ZipFile(folder / f"{module}-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in zip(names, ("", metadata, about, "".join(f"{n},,\n" for n in names)),
                              strict=False):
            wheel.writestr(name, text)


def test_without_packages_a_venv_is_made_and_found_again(sandbox: Sandbox) -> None:
    command = ["/usr/bin/python3", "-c", "import venv, ensurepip"]
    if subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("/usr/bin/python3 has no venv")
    sandbox.table_write("python:uncork_wanted  python3-wanted  python3-wanted  run")
    for name in ("apt-get", "dnf"):
        (sandbox.bin / name).unlink()
    path = path_without(sandbox.bin.parent / "path", "apt-get", "dnf")
    failed = sandbox.shell(ENSURE, path=path, PIP_NO_INDEX="1")
    assert failed.returncode == 1
    why = "build/venv could not be made: install numpy, uncork_wanted for /usr/bin/python3"
    assert why in failed.stderr
    wheels = sandbox.bin.parent / "wheels"
    wheel_write(wheels, "uncork_wanted")
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)}
    done = sandbox.shell(ENSURE, path=path, **offline)
    assert done.returncode == 0, done.stderr
    interpreter = sandbox.tree / "build/venv/bin/python"
    assert done.stdout.splitlines() == [
        "python      no interpreter has numpy, uncork_wanted; "
        "making build/venv on top of the system packages",
        f"python is {interpreter}"]
    assert sandbox.shell(ENSURE, path=path).stdout == f"python is {interpreter}\n"
    assert sandbox.run("scripts/uncork", path=path).returncode == 0
