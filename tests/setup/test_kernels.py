# SPDX-License-Identifier: MIT
"""Kernels for guests: which one a version means, how it is had, kept and refused. Nothing is
fetched; apt only pretends."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import pytest

from sandbox import Sandbox, package_make

KERNELS = "scripts/setup/kernels"
MIRROR = "http://mirror/debian/"
NAMES = ("linux-image-6.1.0-47-amd64", "linux-image-6.1.0-50-amd64",
         "linux-image-6.1.0-50-cloud-amd64", "linux-image-amd64",
         "linux-image-6.12.9+deb13-amd64", "linux-image-6.12.10+deb13-amd64",
         "linux-image-6.12.10+deb13-rt-amd64",
         "linux-image-6.19.10+deb13-amd64", "linux-binary-6.19.10+deb13-amd64",
         "linux-image-7.3.4+deb13-amd64", "linux-binary-7.3.4+deb13-amd64",
         "linux-modules-7.3.4+deb13-amd64",
         "linux-base-7.3.4+deb13-amd64")


def image(sandbox: Sandbox, version: str) -> Path:
    return sandbox.cache / "kernels" / version / "lib/modules" / version / "vmlinuz"


def keep(sandbox: Sandbox, version: str) -> Path:
    """A kernel that was fetched earlier."""
    path = image(sandbox, version)
    path.parent.mkdir(parents=True)
    path.write_text("image")
    return path


def mirror_add(sandbox: Sandbox, *download: str) -> None:
    """A mirror with all NAMES; lines of shell, with what apt-get was called with, fetch packages.
    What lists modules is there, and fails."""
    sandbox.command_add("dpkg", "echo amd64")
    sandbox.command_add("depmod", "exit 1")
    sandbox.recorder_add("apt-get", f"case $1 in indextargets) echo {MIRROR} ;; download) shift",
                         *download, ";; esac")
    sandbox.command_add("apt-cache", f"printf '%s\\n' {' '.join(NAMES)}")


def test_a_series_means_its_newest_kernel_that_is_there_and_asks_nobody(sandbox: Sandbox) -> None:
    keep(sandbox, "6.12.9+deb13-amd64"), keep(sandbox, "6.1.0-50-amd64")
    newest = keep(sandbox, "6.12.10+deb13-amd64")
    done = sandbox.run(KERNELS, "6.12", "6.12.9")
    assert done.stdout.splitlines() == [str(newest), str(image(sandbox, "6.12.9+deb13-amd64"))]
    assert sandbox.calls_read() == []


def test_a_series_is_not_another_that_begins_alike(sandbox: Sandbox) -> None:
    keep(sandbox, "6.12.10+deb13-amd64")
    done = sandbox.run(KERNELS, "--kept", "6.1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no kernel 6.1 is in " in done.stderr
    assert "scripts/setup/target kernels 6.1 fetches it" in done.stderr


def test_a_kernel_that_is_being_fetched_is_none(sandbox: Sandbox) -> None:
    half = keep(sandbox, "6.1.0-50-amd64").parents[3]
    half.rename(half.with_name(half.name + ".new"))
    assert sandbox.run(KERNELS, "--kept", "6.1").returncode == 1


def test_what_can_be_had_has_all_its_packages_and_is_no_flavour(sandbox: Sandbox) -> None:
    mirror_add(sandbox)
    kept = keep(sandbox, "6.1.0-47-amd64")
    done = sandbox.run(KERNELS, "--list")
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["6.1.0-47-amd64", str(kept)], ["6.1.0-50-amd64", "-"], ["6.12.9+deb13-amd64", "-"],
        ["6.12.10+deb13-amd64", "-"],
        ["7.3.4+deb13-amd64", "-"]]


def test_a_version_that_nobody_has_names_those_that_are(sandbox: Sandbox) -> None:
    mirror_add(sandbox)
    done = sandbox.run(KERNELS, "6.19")
    assert done.returncode == 1
    assert done.stderr == f"uncork: {MIRROR} has no kernel 6.19; it has: 6.1, 6.12, 7.3\n"


@pytest.mark.parametrize("word", ["v6.1", "6", "../6.1", "6.1/.."])
def test_what_is_no_version_is_refused(sandbox: Sandbox, word: str) -> None:
    done = sandbox.run(KERNELS, word)
    assert (done.returncode, done.stderr) == (
        2, f'uncork: "{word}" is no version of a kernel: 6.1, 6.18.15 or newest\n')


def test_the_newest_is_asked_for_again_and_is_what_is_there_without_a_network(
        sandbox: Sandbox) -> None:
    mirror_add(sandbox)
    sandbox.command_add("apt-cache", "exit 100")
    kept = keep(sandbox, "6.1.0-50-amd64")
    done = sandbox.run(KERNELS, "newest")
    assert done.stdout == f"{kept}\n"
    assert [call.split()[1] for call in sandbox.calls_read()] == ["indextargets", "update"]


def test_another_system_than_debian_for_amd64_is_named(sandbox: Sandbox) -> None:
    sandbox.command_add("dpkg", "echo arm64")
    done = sandbox.run(KERNELS, "6.1")
    assert done.stderr == ("uncork: kernels for guests are Debian's for amd64, and this system is "
                           "arm64\n")


def test_without_a_mirror_of_debian_none_is_asked(sandbox: Sandbox) -> None:
    sandbox.command_add("dpkg", "echo amd64")
    sandbox.recorder_add("apt-get", "echo http://example.org/ubuntu/")
    done = sandbox.run(KERNELS, "6.1")
    assert done.stderr == ("uncork: kernels for guests are Debian's, and no mirror of Debian is "
                           "among the sources of apt\n")
    assert all("indextargets" in call for call in sandbox.calls_read())


def test_where_nothing_can_be_fetched_the_log_is_named_and_what_came_is_gone_on_with(
        sandbox: Sandbox) -> None:
    mirror_add(sandbox, "pwd; echo half >>part; exit 100")
    for part in ("half\n", "half\nhalf\n"):
        done = sandbox.run(KERNELS, "6.1")
        assert done.stderr.splitlines()[-1] == (
            f"uncork: Linux 6.1.0-50-amd64 could not be fetched from {MIRROR}; "
            "log: build/logs/kernel-6.1.0-50-amd64.log")
        assert (sandbox.cache / "kernels/6.1.0-50-amd64.new/part").read_text() == part
    assert not image(sandbox, "6.1.0-50-amd64").exists()


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="needs dpkg-deb to make a package")
@pytest.mark.parametrize(("version", "place"), [
    ("6.12.10+deb13-amd64", "boot/vmlinuz-6.12.10+deb13-amd64"),
    ("7.3.4+deb13-amd64", "usr/lib/modules/7.3.4+deb13-amd64/vmlinuz")])
def test_of_a_kernel_what_a_guest_needs_is_kept_wherever_it_was(
    sandbox: Sandbox, tmp_path: Path, version: str, place: str,
) -> None:
    modules = f"{'usr/' if place.startswith('usr') else ''}lib/modules/{version}/kernel"
    files = {f"{modules}/{name}.ko.xz": lzma.compress(b"module")
             for name in ("net/tls/tls", "fs/fscache/fscache", "sound/beep")}
    package = package_make(tmp_path, {place: b"image"} | files)
    mirror_add(sandbox, f'cp "{package}" .')
    # What depmod finds out: that a module that is wanted needs one that is not.
    sandbox.recorder_add("depmod",
                         f'cd "lib/modules/{version}"; for file in $(find kernel -name "*.ko*"); do',
                         'case $file in */tls.*) echo "$file: $(find kernel -name "fscache.ko*")" '
                         ';; *) echo "$file:" ;; esac',
                         "done >modules.dep")
    done = sandbox.run(KERNELS, version)
    kept = image(sandbox, version)
    log = sandbox.tree / f"build/logs/kernel-{version}.log"
    assert done.stdout == f"{kept}\n", log.read_text()
    assert kept.read_text() == "image"
    assert sorted(path.relative_to(kept.parent).as_posix()
                  for path in kept.parent.rglob("*.ko*")) == [
        "kernel/fs/fscache/fscache.ko", "kernel/net/tls/tls.ko"]
    assert sandbox.calls_read()[-2:] == [f"depmod -b . {version}"] * 2
    left = sorted(path.name for path in (sandbox.cache / "kernels").iterdir())
    assert left == [version, "apt", "lock"]
