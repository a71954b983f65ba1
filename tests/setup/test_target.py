# SPDX-License-Identifier: MIT
"""`scripts/setup/target static` and `vng`: what they install and build. Package managers, PyPI and
CMake only pretend."""

from __future__ import annotations

import pytest

from sandbox import Sandbox

WANTED = "command:uncork-wanted  wanted-dev  wanted-devel  static+vng"


def test_what_is_missing_is_installed_and_the_programs_are_built(sandbox: Sandbox) -> None:
    sandbox.command_add("id", "echo 0")
    sandbox.table_write(WANTED)
    sandbox.recorder_add("apt-get",
                         f'case "$*" in *install*) cp /bin/true "{sandbox.bin}/uncork-wanted" ;; '
                         'esac')
    sandbox.recorder_add("cmake")
    (sandbox.tree / "CMakeLists.txt").touch()
    done = sandbox.run("scripts/setup/target", "static")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("\nstatic: all there\n")
    *installing, configured, built = sandbox.calls_read()
    assert installing[-1].endswith(" wanted-dev")
    assert configured.startswith("cmake -S ") and configured.endswith(
        " -DCMAKE_BUILD_TYPE=Release -DUNCORK_STATIC=ON")
    assert built.startswith(f"cmake --build {sandbox.tree}/build/static ")


@pytest.mark.parametrize("target", ["static", "vng"])
def test_without_root_an_administrators_command_is_named_and_nothing_is_built(
    sandbox: Sandbox, target: str,
) -> None:
    sandbox.command_add("id", "echo 1000")
    sandbox.table_write(WANTED)
    sandbox.recorder_add("cmake")
    (sandbox.tree / "CMakeLists.txt").touch()
    done = sandbox.run("scripts/setup/target", target)
    first, *_, command, _ = done.stderr.splitlines()
    assert (done.returncode, first) == (
        1, "uncork: these packages are missing, and installing them needs root: wanted-dev")
    assert command.endswith(" wanted-dev'")
    assert sandbox.calls_read() == []


def test_a_build_that_fails_ends_with_its_log(sandbox: Sandbox) -> None:
    sandbox.recorder_add("cmake", "echo there is no libnone.a >&2; exit 1")
    (sandbox.tree / "CMakeLists.txt").touch()
    done = sandbox.run("scripts/setup/target", "static")
    assert done.returncode == 1
    assert "  | there is no libnone.a\n" in done.stderr
    assert done.stderr.endswith(
        "uncork: static: build/static could not be built; whole log: build/logs/build-static.log\n")


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
