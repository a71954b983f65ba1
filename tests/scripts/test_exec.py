# SPDX-License-Identifier: MIT
"""`uncork exec`: it becomes uncork-exec, and the program finds the user's environment."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from conftest import ROOT, Uncork
from suite.commands import machine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has overrides")


def started(uncork: Uncork, *arguments: str,
            **environment: str) -> subprocess.CompletedProcess[str]:
    """`uncork exec` as a process, which becomes another."""
    return subprocess.run(uncork.command("exec", *arguments), capture_output=True, text=True,
                          env=uncork.environment | environment, timeout=60)


@pytest.mark.parametrize("before", [(), ("--",), ("override=join",), ("override=join", "--")])
def test_the_command_follows_the_words_with_or_without_dashes(uncork: Uncork, before):
    done = started(uncork, *before, "sh", "-c", "echo $0 $1; exit 5", "a=b", "--json")
    assert (done.returncode, done.stdout) == (5, "a=b --json\n")
    change = "join" if "override=join" in before else "none"
    assert done.stderr.startswith(f"uncork exec: override={change}, ")


@pytest.mark.parametrize("words", [("--json", "FILE", "override=nodelay"),
                                   ("override=nodelay", "--json", "FILE")])
def test_the_report_goes_to_a_file_as_json(uncork: Uncork, tmp_path, words):
    file = tmp_path / "report.json"
    done = started(uncork, *(str(file) if word == "FILE" else word for word in words), "--", "true")
    assert done.returncode == 0 and done.stderr == ""
    report = json.loads(file.read_text())
    assert report["override"] == "nodelay" and report["processes"] == 1


def test_the_program_does_not_find_the_modules_of_uncork(uncork: Uncork):
    scripts = str(ROOT / "scripts")
    for path, kept in ((scripts, ""), (f"{scripts}:/other", "/other")):
        done = started(uncork, "--", "sh", "-c", "echo $PYTHONPATH", PYTHONPATH=path)
        assert done.stdout == f"{kept}\n"


def test_a_command_is_required_and_words_are_checked(uncork: Uncork):
    for words, says in ((["override=join"], "uncork: nothing to run: uncork exec "),
                        (["override=mor:1", "--", "true"], "uncork: override=mor:1: write none")):
        done = started(uncork, *words)
        assert done.returncode == 2 and done.stderr.startswith(says)


@pytest.mark.parametrize("command, words", [
    (("qemu-nbd", "-t", "disk"), "qemu-nbd protocol=nbd op=read:4K"),
    (("/usr/bin/redis-server", "x"), "redis protocol=resp op=get:4K"),
    (("qemu-nbd", "--tls-creds", "t"), "qemu-nbd protocol=nbd op=read:4K security=gnutls"),
    (("nbdkit", "--tls=require"), "nbdkit protocol=nbd op=read:4K security=gnutls")])
def test_the_command_that_measures_a_subject_is_a_plan(uncork: Uncork, command, words):
    assert (machine.subject_words(["sh"]), machine.subject_words(command)) == ("", words)
    done = uncork.run("run", "-n", f"subject={words.split()[0]}", *words.split()[1:],
                      "override=none,more:64")
    assert "override=off" in done.stdout or "varies: override" in done.stdout


@pytest.mark.parametrize("line, offered", [
    ("uncork exec override=no", ["override=none", "override=nodelay", "override=nomore",
                                 "override=nocork"]),
    ("uncork exec override=mo", ["override=more:"]), ("uncork exec true override=mo", [])])
def test_changes_are_completed_before_the_command(uncork: Uncork, line, offered):
    said = uncork.run("complete", line).stdout.splitlines()
    assert [one.partition("\t")[0] for one in said] == offered
