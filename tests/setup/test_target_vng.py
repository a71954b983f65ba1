# SPDX-License-Identifier: MIT
"""`scripts/setup/target vng`: what a guest needs. Package managers and PyPI only pretend."""

from __future__ import annotations

from sandbox import Sandbox, sandbox

__all__ = ["sandbox"]

WANTED = "command:uncork-wanted  wanted+wanted-dev  wanted-devel  vng"


def test_what_a_guest_lacks_is_named_with_an_administrators_command(sandbox: Sandbox) -> None:
    sandbox.command_add("id", "echo 1000")
    sandbox.table_write(WANTED)
    done = sandbox.run("scripts/setup/target", "vng")
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        1, "uncork: these packages are missing, and installing them needs root: wanted wanted-dev")
    assert sandbox.calls_read() == []


def test_virtme_ng_comes_from_pypi_in_the_version_that_is_named(sandbox: Sandbox) -> None:
    sandbox.command_add("id", "echo 1000")
    sandbox.table_write()
    # and makes no environment
    fits = 'case "$*" in *"find venv ensurepip") echo "answer: fits" ;; *) exit 1 ;; esac'
    interpreter = sandbox.recorder_add("python-of-a-user", fits)
    done = sandbox.run("scripts/setup/target", "vng", UNCORK_PYTHON=str(interpreter))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "uncork: vng: virtme-ng 1.42 could not be fetched from PyPI: pip gave no reason; log: ")
