# SPDX-License-Identifier: MIT
"""The sshd of tests: unpacked and never installed. apt only pretends."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sandbox import Sandbox, package_make

# The system's own sshd is out of sight.
HEAD = """. "$UNCORK_TOP/scripts/setup/sshd.sh"
have() { [ "$1" != sshd ] && command -v -- "$1" >/dev/null 2>&1; }
"""
# Where apt-get is told to download to.
FINDS_FOLDER = 'for word; do case $word in Dir::Cache::Archives=*) folder=${word#*=} ;; esac; done'


def ensured(sandbox: Sandbox) -> str:
    """Status and reason of sshd_ensure."""
    return sandbox.shell(HEAD + 'sshd_ensure; echo "$? $SSHD_WHY"').stdout


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="needs dpkg-deb to make a package")
def test_an_sshd_is_unpacked_and_not_installed(sandbox: Sandbox, tmp_path: Path) -> None:
    package = package_make(tmp_path, {"usr/sbin/sshd": b"program"})
    sandbox.command_add("id", "echo 0")
    sandbox.recorder_add("apt-get", FINDS_FOLDER, f'cp "{package}" "$folder/"')
    assert [ensured(sandbox), ensured(sandbox)] == ["0 \n"] * 2
    (call,) = sandbox.calls_read()
    assert "--download-only openssh-server" in call
    assert [path.name for path in (sandbox.tree / "build/sshd").rglob("*")
            if path.is_file()] == ["sshd"]


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="needs dpkg-deb to make a package")
@pytest.mark.parametrize("does", ["exit 100", 'cp "{package}" "$folder/"'],
                         ids=["no network", "another package"])
def test_where_none_can_be_had_the_log_is_named_and_nothing_is_left(
    sandbox: Sandbox, tmp_path: Path, does: str,
) -> None:
    package = package_make(tmp_path, {"usr/bin/other": b"program"})
    sandbox.command_add("id", "echo 0")
    sandbox.command_add("apt-get", FINDS_FOLDER, does.format(package=package))
    assert ensured(sandbox) == ("1 no sshd could be fetched from the package openssh-server; "
                                "log: build/logs/sshd.log\n")
    assert not (sandbox.tree / "build/sshd").exists()


def test_a_user_is_told_the_package_and_nothing_is_fetched(sandbox: Sandbox) -> None:
    sandbox.command_add("id", "echo 1000")
    sandbox.recorder_add("apt-get")
    assert ensured(sandbox) == "1 this machine has no sshd (package openssh-server)\n"
    assert sandbox.calls_read() == []
