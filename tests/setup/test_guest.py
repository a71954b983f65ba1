# SPDX-License-Identifier: MIT
"""Guests with another kernel: how one is run and given up. No machine is booted; virtme-ng only pretends."""

from __future__ import annotations

import subprocess

import pytest
from sandbox import Sandbox, sandbox

__all__ = ["sandbox"]

HEAD = '. "$UNCORK_TOP/scripts/setup/guest.sh"; PYPI=/nowhere; KERNEL=/modules/9.9-test/vmlinuz\n'
RUN = 'guest_run 20 "true"; echo "status $?"; echo "why $GUEST_WHY"'
# The last argument is the command; a guest that comes to its end leaves a status where its /mnt is.
FINDS_MNT = 'for word; do case $word in --rwdir=/mnt=*) mnt=${word#*=*=} ;; esac; done'


def guest(sandbox: Sandbox, script: str) -> subprocess.CompletedProcess[str]:
    return sandbox.shell(HEAD + script)


@pytest.mark.parametrize("status", [0, 1, 77])
def test_the_status_of_the_command_comes_through_whatever_the_machine_ends_with(sandbox: Sandbox, status: int) -> None:
    sandbox.recorder_add("vng", FINDS_MNT, f'echo {status} >"$mnt/status"; exit 255')
    done = guest(sandbox, RUN)
    assert done.stdout == f"status {status}\nwhy \n"
    assert len(sandbox.calls_read()) == 1


def test_a_guest_that_crashed_is_started_once_more(sandbox: Sandbox) -> None:
    sandbox.recorder_add("vng", FINDS_MNT, f'[ "$(wc -l <"{sandbox.calls}")" = 2 ] && echo 0 >"$mnt/status"; exit 255')
    done = guest(sandbox, RUN)
    assert done.stdout.splitlines() == [
        "the guest has crashed, or was ended after 20 s (attempt 1)", "status 0", "why "]


def test_what_crashed_twice_is_given_up_with_a_reason(sandbox: Sandbox) -> None:
    sandbox.recorder_add("vng", "echo boots; exit 255")
    done = guest(sandbox, RUN)
    assert done.stdout.splitlines()[-2:] == ["status 125", "why a guest with Linux 9.9-test has crashed or hung 2 times"]
    assert len(sandbox.calls_read()) == 2


def test_a_guest_that_hangs_is_ended(sandbox: Sandbox) -> None:
    sandbox.recorder_add("vng", "exec sleep 50")
    done = guest(sandbox, RUN.replace("20", "1"))
    assert done.stdout.splitlines()[-2:] == ["status 125", "why a guest with Linux 9.9-test has crashed or hung 2 times"]


def test_a_status_of_an_earlier_guest_is_not_taken_for_this_one(sandbox: Sandbox) -> None:
    sandbox.recorder_add("vng", "exit 0")
    done = guest(sandbox, f'mkdir -p "$GUEST_RESULTS"; echo 0 >"$GUEST_RESULTS/status"; {RUN}')
    assert "status 125" in done.stdout


def test_what_an_optional_step_lacks_is_a_reason_and_asks_nobody(sandbox: Sandbox) -> None:
    sandbox.command_add("id", "echo 1000")
    sandbox.table_write("command:uncork-wanted  wanted+wanted-dev  wanted-devel  vng")
    done = guest(sandbox, 'guest_ensure; echo "$? $GUEST_WHY"')
    assert (done.stdout, done.stderr) == ("1 this machine lacks wanted, wanted-dev\n", "")
    assert sandbox.calls_read() == []
