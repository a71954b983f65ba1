# SPDX-License-Identifier: MIT
"""Guests with another kernel: how one is had, run and given up. No machine is booted; virtme-ng and apt only pretend."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

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


ENSURE = 'kernel_ensure || echo "why: $KERNEL_WHY"; echo "kernel: $KERNEL"'


def test_another_system_than_debian_for_amd64_is_named(sandbox: Sandbox) -> None:
    sandbox.command_add("dpkg", "echo arm64")
    assert guest(sandbox, ENSURE).stdout.startswith("why: the kernel for guests is Debian's for amd64")


def test_without_a_mirror_of_debian_none_is_asked(sandbox: Sandbox) -> None:
    sandbox.command_add("dpkg", "echo amd64")
    sandbox.recorder_add("apt-get", "echo http://example.org/ubuntu/")
    done = guest(sandbox, ENSURE)
    assert "why: the kernel for guests is Debian's, and no mirror of Debian is among the sources of apt" in done.stdout
    assert all("indextargets" in call for call in sandbox.calls_read())


def test_where_nothing_can_be_fetched_the_log_is_named_and_no_kernel_is_left(sandbox: Sandbox) -> None:
    sandbox.command_add("dpkg", "echo amd64")
    sandbox.recorder_add("apt-get", "case $1 in indextargets) echo http://mirror/debian/ ;; *) exit 100 ;; esac")
    sandbox.command_add("apt-cache", "echo '  Depends: linux-image-9.9-test'")
    done = guest(sandbox, ENSURE)
    assert "why: no kernel for guests could be had from http://mirror/debian/; log: build/logs/kernel.log" in done.stdout
    assert not (sandbox.tree / "build/guest/kernel").exists()


def package_make(folder: Path, version: str) -> Path:
    """A package with an image, a module that a guest needs and one that it does not."""
    modules = folder / "package/usr/lib/modules" / version
    for name in ("kernel/net/tls/tls.ko", "kernel/sound/beep.ko"):
        (modules / name).parent.mkdir(parents=True)
        (modules / name).write_text("module")
    (modules / "vmlinuz").write_text("image")
    subprocess.run(["xz", *modules.rglob("*.ko")], check=True)
    (folder / "package/DEBIAN").mkdir()
    (folder / "package/DEBIAN/control").write_text(
        "Package: linux\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: none\n")
    subprocess.run(["dpkg-deb", "--build", folder / "package", folder / "linux.deb"], check=True, capture_output=True)
    return folder / "linux.deb"


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="needs dpkg-deb to make a package")
def test_of_a_kernel_only_what_a_guest_needs_is_kept(sandbox: Sandbox, tmp_path: Path) -> None:
    package = package_make(tmp_path, "9.9-test")
    sandbox.command_add("dpkg", "echo amd64")
    sandbox.command_add("apt-get", "case $1 in indextargets) echo http://mirror/debian/ ;;",
                        f'download) cp "{package}" . ;; esac')
    sandbox.command_add("apt-cache", "echo '  Depends: linux-image-9.9-test'")
    sandbox.recorder_add("depmod")
    done = guest(sandbox, ENSURE)
    modules = sandbox.tree / "build/guest/kernel/usr/lib/modules/9.9-test"
    assert done.stdout == f"kernel: {modules}/vmlinuz\n", (sandbox.tree / "build/logs/kernel.log").read_text()
    assert [path.relative_to(modules).as_posix() for path in modules.rglob("*.ko*")] == ["kernel/net/tls/tls.ko"]
    assert sandbox.calls_read() == ["depmod -b usr 9.9-test"]


def test_what_an_optional_step_lacks_is_a_reason_and_asks_nobody(sandbox: Sandbox) -> None:
    sandbox.command_add("id", "echo 1000")
    sandbox.table_write("command:uncork-wanted  wanted+wanted-dev  wanted-devel  guest")
    done = guest(sandbox, 'guest_ensure; echo "$? $GUEST_WHY"')
    assert (done.stdout, done.stderr) == ("1 this machine lacks wanted, wanted-dev\n", "")
    assert sandbox.calls_read() == []
