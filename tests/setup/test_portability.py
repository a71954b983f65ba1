# SPDX-License-Identifier: MIT
"""tests/portability/run: what is asked of which system, and how it is said. Nothing is built; the
tools only pretend."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sandbox import TOP, Sandbox

RUN = "tests/portability/run"
TARGETS = ["x86_64-macos", "aarch64-macos", "x86_64-freebsd", "x86_64-openbsd", "x86_64-netbsd"]
# What ninja leaves: $2 is the folder, the last word what is to be built.
NINJA = ['case "$*" in', '*uv_a) touch "$2/libuv_a.a" ;;',
         '*/jansson*jansson) touch "$2/lib/libjansson.a" ;;',
         '*targets*) echo "common/a.c.o: C_COMPILER"; echo "bin/uncork-client: C_LINKER" ;;',
         "esac"]
FILE = ['case $2 in', "*x86_64-macos*) echo Mach-O 64-bit x86_64 executable ;;",
        "*aarch64-macos*) echo Mach-O 64-bit arm64 executable ;;",
        "*freebsd*) echo 'ELF 64-bit LSB executable, x86-64, for FreeBSD 14' ;;",
        "*openbsd*) echo 'ELF 64-bit LSB pie executable, x86-64, for OpenBSD' ;;", "esac"]


@pytest.fixture
def ready(sandbox: Sandbox) -> Sandbox:
    """The copy with all that a run asks for."""
    shutil.copytree(TOP / "tests/portability", sandbox.tree / "tests/portability")
    (sandbox.tree / "CMakeLists.txt").touch()
    python = sandbox.tree / "build/pypi/ziglang-0.17.0/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\ncase $2 in *__path__*) echo /nowhere/ziglang ;; esac\n")
    python.chmod(0o755)
    for name in ("libuv1/CMakeLists.txt", "libuv1/configure.ac", "jansson/CMakeLists.txt",
                 "jansson/src/jansson.h"):
        path = sandbox.tree / "build/portability/sources" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    sandbox.recorder_add("cmake", 'mkdir -p "$4/lib"')
    sandbox.recorder_add("ninja", *NINJA)
    sandbox.command_add("file", *FILE)
    return sandbox


def run(sandbox: Sandbox, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return sandbox.run(sandbox.tree / RUN, *words, **variables)


def test_each_system_is_one_test_and_all_of_them_are_counted_by_the_step(ready: Sandbox) -> None:
    done = ready.run("scripts/test", "portability")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "5 passed, 0 failed, 0 skipped"
    log = (ready.tree / "build/logs/test-portability.log").read_text()
    assert sorted(line.split(":")[0] for line in log.splitlines()[:-1]) == sorted(TARGETS)


def test_programs_are_linked_for_all_but_netbsd_whose_objects_are_compiled(ready: Sandbox) -> None:
    assert run(ready).returncode == 0
    linked = [call for call in ready.calls_read() if call.endswith("uncork-client uncork-server")]
    assert sorted(call.split("portability/")[1].split("/")[0]
                  for call in linked) == sorted(TARGETS[:-1])
    assert any("x86_64-netbsd/uncork" in call and call.endswith(" common/a.c.o")
               for call in ready.calls_read())


def test_programs_of_another_system_than_was_asked_for_fail(ready: Sandbox) -> None:
    ready.command_add("file", "echo ELF 64-bit LSB pie executable, x86-64, for GNU/Linux 3.2.0")
    done = run(ready, "x86_64-openbsd", "x86_64-macos")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "0 passed, 2 failed, 0 skipped"
    assert ('error: uncork-client is no "Mach-O 64-bit x86_64 executable" '
            "but: ELF 64-bit LSB pie executable, x86-64, for GNU/Linux 3.2.0"
            ) in done.stdout.splitlines()


def test_what_does_not_compile_is_said_again_once_and_the_log_is_named(ready: Sandbox) -> None:
    error = f'{ready.tree}/common/a.c:3:1: error: use of undeclared identifier'
    ready.command_add("ninja", *NINJA,
                      f'case "$*" in *uncork-client*) echo "{error}"; echo "{error}"; exit 1 ;; '
                      'esac')
    done = run(ready, "x86_64-freebsd")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "x86_64-freebsd: does not link or compile; all of it is in "
        "build/logs/portability-x86_64-freebsd.log",
        "common/a.c:3:1: error: use of undeclared identifier",
        "0 passed, 1 failed, 0 skipped"]


def test_to_compile_only_no_library_is_built_and_nothing_is_linked(ready: Sandbox) -> None:
    shutil.rmtree(ready.tree / "build/portability/sources")
    done = run(ready, "--compile", "x86_64-freebsd")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "1 passed, 0 failed, 0 skipped"
    built = [call for call in ready.calls_read() if call.startswith("ninja")]
    assert [call.split()[-1] for call in built] == ["all", "common/a.c.o"]


def test_a_library_that_cannot_be_built_is_a_failure(ready: Sandbox) -> None:
    ready.command_add("ninja", *[line for line in NINJA if "uv_a" not in line])
    done = run(ready, "x86_64-netbsd")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "0 passed, 1 failed, 0 skipped")


def test_the_targets_are_listed_and_another_one_is_refused(ready: Sandbox) -> None:
    assert run(ready, "--list").stdout.split() == TARGETS
    done = run(ready, "x86_64-macos", "x86_64-plan9")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ('uncork: no target "x86_64-plan9" (tests/portability/run --list names '
                           'them)\n')


def test_without_its_compiler_all_are_skipped_with_the_reason(ready: Sandbox) -> None:
    shutil.rmtree(ready.tree / "build/pypi")
    (ready.tree / "build/pypi").write_text("a file, so that no environment can be made there")
    done = run(ready)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("skipped: ziglang ")
    assert done.stdout.splitlines()[-1] == "0 passed, 0 failed, 5 skipped"


def test_where_there_is_no_mirror_of_debian_the_reason_is_the_sources(ready: Sandbox) -> None:
    shutil.rmtree(ready.tree / "build/portability/sources")
    done = run(ready, "x86_64-macos")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "skipped: the sources of libuv1, jansson are Debian's, and no mirror of Debian is among "
        "the sources of apt",
        "0 passed, 0 failed, 1 skipped"]


SOURCES = (f'. "{TOP}/tests/portability/sources.sh"; sources_ensure jansson || echo "why: '
           '$SOURCES_WHY"\n')
# apt-get indextargets --format FORMAT
INDEX = (
    "case $1 in indextargets) echo \"$3\" | sed 's|$(REPO_URI)|http://mirror/debian/|; "
    "s|$(RELEASE)|anysuite|' ;;")


def archive_make(folder: Path, *names: str) -> Path:
    """What a mirror has of the sources of jansson: these files in a folder of the version."""
    top = folder / "jansson-9.9"
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(name)
    subprocess.run(["tar", "-czf", folder / "jansson_9.9.orig.tar.gz", "-C", folder, top.name],
                   check=True)
    return folder / "jansson_9.9.orig.tar.gz"


def test_sources_are_those_of_the_suite_that_this_system_has(sandbox: Sandbox,
                                                             tmp_path: Path) -> None:
    archive = archive_make(tmp_path, "CMakeLists.txt", "src/jansson.h")
    sandbox.command_add("apt-get", INDEX,
                        f'source) cp "{archive}" .; cat "$(dirname "$APT_CONFIG")/sources.list" ;; '
                        'esac')
    done = sandbox.shell(SOURCES)
    log = (sandbox.tree / "build/logs/sources.log").read_text()
    assert done.stdout == "", log
    assert " http://mirror/debian/ anysuite main\n" in log
    kept = sandbox.tree / "build/portability/sources"
    assert sorted(path.relative_to(kept).as_posix() for path in kept.rglob("*")
                  if path.is_file()) == [
        "jansson/CMakeLists.txt", "jansson/src/jansson.h"]


def test_sources_that_are_not_what_is_built_leave_nothing_behind(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    archive = archive_make(tmp_path, "configure.ac")
    sandbox.command_add("apt-get", INDEX, f'source) cp "{archive}" . ;; esac')
    done = sandbox.shell(SOURCES)
    assert done.stdout == ("why: the sources of jansson could not be fetched from "
                           "http://mirror/debian/; log: build/logs/sources.log\n")
    assert not (sandbox.tree / "build/portability/sources").exists()
