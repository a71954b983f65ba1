# SPDX-License-Identifier: MIT
"""What scripts/demo and scripts/test print and how they end."""

from __future__ import annotations

import re

import pytest

from sandbox import Sandbox, targets_named

PASSES = "# does: passes\n\ncount passed 3\n"
FAILS = "# does: fails\n\necho the reason of it\nfalse\n"
SKIPS = "# does: skips\n\ncount skipped 1 'tool is not installed'\n"
EMPTY = "# does: tests nothing\n\ntrue\n"
LONG = "# does: takes long\n# long: yes\n\ncount passed 100\n"
CMAKE = "cmake_minimum_required(VERSION 3.25)\nproject(empty NONE)\n"
JUNIT = """# does: counts a file
cat >"$LOGS/some.xml" <<'END'
<testsuites><testsuite>
<testcase name="a" status="run"/><testcase name="b"/>
<testcase name="c" status="fail"><failure message="broken"/></testcase>
<testcase name="d"><skipped message="no netperf"/></testcase>
<testcase name="e" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
<system-out>start\nskipped: no IPv6 here</system-out></testcase>
<testcase name="f" status="disabled"/>
</testsuite></testsuites>
END
count_junit "$LOGS/some.xml"
"""


def steps_write(sandbox: Sandbox, **steps: str) -> None:
    """These steps instead of the real ones, in this order."""
    folder = sandbox.tree / "scripts/setup/steps"
    for file in folder.iterdir():
        file.unlink()
    for number, (name, text) in enumerate(steps.items()):
        (folder / f"{number:02d}-{name}.sh").write_text(text)


def test_all_passed(sandbox: Sandbox) -> None:
    steps_write(sandbox, one=PASSES, two=PASSES, three=SKIPS)
    done = sandbox.run("scripts/test")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("packages ")
    verdicts = {tuple(line.split()[:2]) for line in lines[1:4]}
    assert verdicts == {("one", "ok"), ("two", "ok"), ("three", "skipped")}
    assert lines[-3:-1] == ["skipped:", "  three: tool is not installed"]
    assert lines[-1] == "6 passed, 0 failed, 1 skipped"
    assert done.stderr == ""


def test_all_installs_each_optional_package_that_there_is(sandbox: Sandbox) -> None:
    steps_write(sandbox, one=PASSES)
    sandbox.command_add("id", "echo 0")
    sandbox.table_write(*(f"command:uncork-{name}  {name}  {name}  optional"
                          for name in ("absent", "there")))
    make = f'cp /bin/true "{sandbox.bin}/uncork-there"'
    sandbox.recorder_add("apt-get", f'case "$*" in *absent*) exit 100 ;; *there*) {make} ;; esac')
    assert sandbox.run("scripts/test").returncode == 0 and sandbox.calls_read() == []
    done = sandbox.run("scripts/test", "--all")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1] == (
        "packages       absent could not be installed (log: build/logs/packages-absent.log)")
    assert (sandbox.bin / "uncork-there").exists()
    again = len(sandbox.calls_read())
    sandbox.run("scripts/test", "--all")
    assert [call.split()[-1] for call in sandbox.calls_read()[again:]] == ["update", "absent"]


def test_two_steps_run_at_once_and_one_that_says_so_runs_alone(sandbox: Sandbox) -> None:
    meets = ('# does: waits for another\n\ntouch "$LOGS/{0}"\n'
             'until [ -e "$LOGS/{1}" ]; do sleep 0.01; done\ncount passed 1\n')
    stays = ('# does: stays a while\n\n'
             'touch "$LOGS/stays" && sleep 0.2 && rm "$LOGS/stays" && count passed 1\n')
    alone = ('# does: looks who else runs\n# alone: yes\n\n'
             'for _ in 1 2 3; do [ ! -e "$LOGS/stays" ] && sleep 0.05 && count passed 1; done\n')
    steps_write(sandbox, a=meets.format("a", "b"), b=meets.format("b", "a"), c=stays, d=alone,
                e=stays)
    done = sandbox.run("scripts/test")
    assert done.stdout.splitlines()[-1] == "7 passed, 0 failed, 0 skipped", done.stderr


def test_a_failed_step_shows_its_log_and_the_others_still_run(sandbox: Sandbox) -> None:
    steps_write(sandbox, one=FAILS, two=PASSES)
    done = sandbox.run("scripts/test")
    assert done.returncode == 1
    assert "  --- the last lines of build/logs/test-one.log\n  | the reason of it\n" in done.stderr
    assert done.stdout.splitlines()[-1] == "3 passed, 1 failed, 0 skipped"


def test_a_step_that_tests_nothing_failed(sandbox: Sandbox) -> None:
    steps_write(sandbox, one=EMPTY)
    done = sandbox.run("scripts/test")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "0 passed, 1 failed, 0 skipped")
    assert "this step ran no test" in done.stderr


def test_a_step_that_hangs_is_ended(sandbox: Sandbox) -> None:
    steps_write(sandbox, one="# does: hangs\nsleep 100\n")
    script = sandbox.tree / "scripts/test"
    script.write_text(re.sub(r"STEP_SECONDS=\d+", "STEP_SECONDS=1", script.read_text()))
    done = sandbox.run("scripts/test")
    assert done.stdout.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"
    assert re.search(r"ended after \d+ s, which is the limit", done.stderr)


def test_junit_files_are_counted_with_reasons(sandbox: Sandbox) -> None:
    steps_write(sandbox, one=JUNIT)
    done = sandbox.run("scripts/test")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-3:] == ["  one: d: no netperf",
                                             "  one: e: skipped: no IPv6 here",
                                             "2 passed, 2 failed, 2 skipped"]


def test_steps_are_listed_and_chosen_by_name(sandbox: Sandbox) -> None:
    steps_write(sandbox, **{"big-one": PASSES, "one": SKIPS, "slow": LONG})
    listed = sandbox.run("scripts/test", "--list").stdout.splitlines()
    assert [line.split(maxsplit=1) for line in listed] == [
        ["big-one", "passes"],
        ["one", "skips"],
        ["slow", "takes long (only with --all)"],
    ]
    for words, last in (
        (["one"], "0 passed, 0 failed, 1 skipped"),
        (["slow", "one"], "100 passed, 0 failed, 1 skipped"),
        ([], "3 passed, 0 failed, 1 skipped"),
        (["--all"], "103 passed, 0 failed, 1 skipped"),
    ):
        assert sandbox.run("scripts/test", *words).stdout.splitlines()[-1] == last


@pytest.mark.parametrize("command", ["scripts/demo", "scripts/test"])
def test_wrong_arguments_are_one_line_and_exit_2(sandbox: Sandbox, command: str) -> None:
    for word in ("nonsense", "--nonsense"):
        done = sandbox.run(command, word)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert sandbox.run(command, "--help").stdout.startswith(f"usage: {command}")


def test_the_demo_shows_why_a_build_failed(sandbox: Sandbox) -> None:
    (sandbox.tree / "CMakeLists.txt").write_text('message(FATAL_ERROR "the moon is full")\n')
    done = sandbox.run("scripts/demo")
    assert done.returncode == 1
    assert "the moon is full" in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last == "uncork: the build failed; whole log: build/logs/build-release.log"


def test_the_demo_builds_runs_and_prints(sandbox: Sandbox) -> None:
    (sandbox.tree / "CMakeLists.txt").write_text(CMAKE)
    done = sandbox.run("scripts/demo", folder=sandbox.bin)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    names = [line.split()[0] for line in lines if line and not line.startswith("{")]
    assert names == ["folder", "packages", "build", "run", "plot", "again", "next"]
    assert lines.count("") == 1
    again = sandbox.run("scripts/demo", STATUS="1")
    assert again.returncode == 1
    assert "uncork: the run failed; finished runs are kept in results/quick-" in again.stderr


def test_a_tree_that_was_moved_or_had_another_compiler_is_configured_anew(sandbox: Sandbox) -> None:
    (sandbox.tree / "CMakeLists.txt").write_text(CMAKE)
    assert sandbox.shell("tree_build release").returncode == 0
    cache = sandbox.tree / "build/release/CMakeCache.txt"
    home = "CMAKE_HOME_DIRECTORY:INTERNAL="
    assert home + str(sandbox.tree) in cache.read_text()
    cache.write_text(cache.read_text().replace(home + str(sandbox.tree), home + "/old"))
    for options, anew in (("", True), ("", False), ("-DCMAKE_C_COMPILER=clang", True),
                          ("-DCMAKE_C_COMPILER=clang", False)):
        done = sandbox.shell(f"tree_build release {options}")
        assert done.returncode == 0, done.stderr
        said = "for another folder or compiler: configuring it again" in done.stdout
        assert said == anew, options


def test_a_tree_whose_compiler_was_missing_is_configured_anew(sandbox: Sandbox) -> None:
    """CMake keeps what it found out before it failed, and does not look for the rest again."""
    failing = "if(NOT COMPILER)\nmessage(FATAL_ERROR missing)\nendif()\n"
    (sandbox.tree / "CMakeLists.txt").write_text(CMAKE + failing)
    assert sandbox.shell("tree_build asan").returncode == 1
    done = sandbox.shell("tree_build asan -DCOMPILER=ON")
    assert done.returncode == 0, done.stderr
    assert "build/asan was configured in part, or" in done.stdout


def test_setup_lists_what_it_installs_and_hands_kernels_over(sandbox: Sandbox) -> None:
    done = sandbox.run("scripts/setup/target")
    assert done.returncode == 0 and done.stderr == ""
    names = {line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ")}
    assert targets_named() <= names
    done = sandbox.run("scripts/setup/target", "kernels", "six")
    assert (done.returncode, done.stderr) == (
        2, 'uncork: "six" is no version of a kernel: 6.1, 6.18.15 or newest\n')
    done = sandbox.run("scripts/setup/target", "nonsense")
    assert (done.returncode, done.stderr) == (
        2, 'uncork: no target or subject "nonsense" (scripts/setup/target --help lists them)\n')


def test_a_subject_is_installed_by_the_packages_that_its_file_names(sandbox: Sandbox) -> None:
    folder = sandbox.tree / "scenarios/subjects"
    folder.mkdir(parents=True)
    (folder / "served.toml").write_text(
        'says = "serves"\nprogram = "uncork-served"\napt = "served+served-plugins"\n'
        'dnf = "served-server"\n')
    assert "  served   serves, for subject=served\n" in sandbox.run("scripts/setup/target").stdout
    served = sandbox.bin / "uncork-served"
    sandbox.recorder_add("apt-get", f'case "$*" in *install*) ln -s /bin/true "{served}" ;; esac')
    sandbox.command_add("id", "echo 0")
    done = sandbox.run("scripts/setup/target", "served")
    assert (done.returncode, done.stderr) == (0, "") and "served: all there\n" in done.stdout
    assert sandbox.calls_read()[-1].endswith(" served served-plugins")


def test_an_installation_writes_into_the_cache_and_names_the_commands_of_its_user(
    sandbox: Sandbox,
) -> None:
    (sandbox.tree / "installed").write_text("../../bin\n")
    sandbox.table_write("command:uncork-wanted  wanted  wanted  vng",
                        "python:uncork_wanted  python3-wanted  python3-wanted  run")
    assert sandbox.run("scripts/setup/target").stdout.startswith("usage: uncork setup NAME...\n")
    done = sandbox.run("scripts/uncork", "list")
    assert done.returncode == 1
    assert f": run {sandbox.tree}/scripts/setup/target run, which installs it\n" in done.stderr
    sandbox.command_add("id", "echo 0")
    done = sandbox.run("scripts/setup/target", "vng")
    assert done.returncode == 1 and f"log: {sandbox.cache}/logs/packages.log\n" in done.stderr
    assert not (sandbox.tree / "build").exists()
