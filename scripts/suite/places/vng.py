# SPDX-License-Identifier: MIT
"""target=vng:IMAGE: another Linux kernel, booted by virtme-ng once for all cells of a round.

The guest sees the files of this machine, read only, so that the same programs run there. What
virtme-ng wants, and nobody would guess: its own folder on PATH, standard output that is a pipe,
paths without blanks in what the kernel is told; a crash is status 255 without a word, and a hang is
for ever.
"""

from __future__ import annotations

import functools
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from suite.base.child import child_ask
from suite.base.client import ROOT, Client
from suite.base.errors import Failure
from suite.base.place import Command, Place
from suite.places.images import Image, image_find
from suite.places.target import Target, outside_refuse

PROGRAM = "vng"
INSTALL = "scripts/setup/target vng installs it"
NEEDED = {"qemu-system-x86_64": "qemu", "modprobe": "kmod", "udevadm": "udev",
          "busybox": "busybox", "file": "file"}
INSTALLED = ROOT / "build" / "pypi"  # where scripts/setup/target has put virtme-ng
MODULES = Path("/sys/module")
HARDWARE = ("kvm_intel", "kvm_amd")  # a /dev/kvm without these may be unable to run a kernel
SMOKE_SECONDS = 30
# a boot, by whether the hardware helps: 2 s, and up to 30 s where it does not
BOOT_S = {True: 60.0, False: 180.0}
MEMORY = "1G"
EMULATED_CPUS = 4  # client, proxy, server and who controls them
SYSTEM_PATHS = "/usr/sbin:/sbin"  # modprobe, for users
BIN = "/run/uncork/bin"  # the folder of the client, in the guest
# The guest ends with the runner: standard input closes, and this with it, whatever the guest is at.
LIFELINE = 'exec "$@" < <(exec 2>/dev/null; cat; kill -TERM -- -$$)'


@dataclass(frozen=True)
class Hypervisor:
    """What guests are made of here: PATH for virtme-ng, its options, and whether the processor
    helps."""

    path: str
    version: str
    options: tuple[str, ...] = ()
    hardware: bool = False


@dataclass(frozen=True)
class Guest:
    """A boot for each command. verbose: what the kernel says goes to standard error."""

    hypervisor: Hypervisor
    image: Image
    verbose: bool = False

    @property
    def name(self) -> str:
        """Which kernel it has."""
        return f"in a guest with Linux {self.image.release}"

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> Command:
        """virtme-ng; the program's folder has the same place in every guest."""
        # for the shell of virtme-ng
        folder = f"{BIN}={shlex.quote(str(program.parent.absolute()))}"
        argv = self.boot(script_make(program.name, arguments), f"--rodir={folder}")
        if "--with-parent" in arguments:
            argv = ("bash", "-c", LIFELINE, "uncork", *argv)
        return Command(argv, given)

    def boot(self, script: str, *options: str) -> tuple[str, ...]:
        """The command that boots it and runs a script for sh(1); its modules are named, for they
        may be where a guest has a folder of its own, as /tmp."""
        root = self.image.root
        modules = () if root == Path("/") else (f"--rodir={root}",)
        return ("env", f"PATH={self.hypervisor.path}", PROGRAM, *self.hypervisor.options,
                *(("-v",) if self.verbose else ()),
                "--cwd=/", f"--cpus={cpus_count(self.hypervisor.hardware)}", f"--memory={MEMORY}",
                f"--run={self.image.path}", *modules, *options,
                "--exec", script)


def cpus_count(hardware: bool) -> int:
    """As many CPUs as this process may use; emulated ones cost a boot more than they bring."""
    count = len(os.sched_getaffinity(0))
    return count if hardware else min(count, EMULATED_CPUS)


def script_make(program: str, arguments: Sequence[str]) -> str:
    """What a guest does. A batch is preceded by the facts of this boot, and reads from a pipe,
    which a lifeline has to be and a guest's standard input is not."""
    command = shlex.join([f"./{program}", *arguments])
    start = f"ip link set lo up; cd {BIN} || exit; "
    if "--with-parent" not in arguments:
        return f"{start}exec {command}"
    return f"{start}./{program} --facts; exec bash -c {shlex.quote(f'exec {command} < <(exec cat 2>/dev/null)')}"


def vng_folder() -> Path | None:
    """The folder of virtme-ng: on PATH, else the newest that scripts/setup/target has installed."""
    found = shutil.which(PROGRAM)
    if found:
        return Path(found).absolute().parent
    installed = sorted(INSTALLED.glob(f"virtme-ng-*/bin/{PROGRAM}"))
    return installed[-1].parent if installed else None


def hypervisor_open(where: str) -> Hypervisor:
    """What guests are made of, without hardware; Failure, in a sentence with one command, where
    something is missing."""
    if platform.machine() != "x86_64":
        raise Failure(f"{where}: guests are for x86-64 only, and this is {platform.machine()}")
    folder = vng_folder()
    if folder is None:
        raise Failure(f"{where}: virtme-ng ({PROGRAM}) is missing: {INSTALL}")
    path = f"{folder}:{os.environ.get('PATH', os.defpath)}:{SYSTEM_PATHS}"
    for program, package in NEEDED.items():
        if shutil.which(program, path=path) is None:
            raise Failure(f"{where}: {program} ({package}) is missing: {INSTALL}")
    done = vng_try(["env", f"PATH={path}", PROGRAM, "--version"], where)
    return Hypervisor(path, (done.stdout.split() or ["unknown"])[-1])


def vng_try(command: Sequence[str], where: str) -> subprocess.CompletedProcess[str]:
    """Runs a short command; Failure where it does not start or hangs."""
    try:
        return child_ask(command, "", SMOKE_SECONDS)
    except OSError as error:
        raise Failure(f"{where}: {command[0]} does not start: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise Failure(f"{where}: {shlex.join(command)} did not end in {SMOKE_SECONDS} s") from None


def share_options(image: Image, where: str) -> tuple[str, ...]:
    """How the guest sees this machine's files: by virtiofs where both ends have it, else by 9p."""
    kernel = image.shares if image.shares is not None else frozenset({"9p"})
    if "virtiofs" in kernel and (shutil.which("virtiofsd")
                                 or Path("/usr/libexec/virtiofsd").exists()):
        return ()
    if "9p" in kernel:
        return ("--force-9p",)
    raise Failure(
        f"{where}: Linux {image.release} has no 9p, and this machine no virtiofsd: take a kernel that has it "
                  "(scripts/setup/kernels --list), or cargo install --locked virtiofsd")


def hardware_works(guest: Guest) -> bool:
    """Whether the processor runs guests: it has what that needs, and one that only ends again does
    so in time."""
    if not any((MODULES / name).exists() for name in HARDWARE):
        return False
    try:
        return child_ask(guest.boot("exit 7"), "", SMOKE_SECONDS).returncode == 7
    except (OSError, subprocess.TimeoutExpired):
        return False


def guest_open(value: str) -> Guest:
    """The guest of a value of the word, as this machine can have it."""
    where = f"target={value}"
    image = image_find(value.partition(":")[2], where)
    hypervisor = hypervisor_open(where)
    hypervisor = replace(hypervisor, options=share_options(image, where), hardware=True)
    guest = Guest(hypervisor, image)
    if hardware_works(guest):
        return guest
    say(
        "no hardware virtualisation (kvm_intel, kvm_amd): guests are emulated, which shows what a kernel does and not how fast")
    return replace(guest, hypervisor=replace(hypervisor, options=("--disable-kvm", *hypervisor.options),
                                          hardware=False))


@functools.cache
def say(text: str) -> None:
    """One line on standard error, once."""
    print(f"uncork: {text}", file=sys.stderr, flush=True)


class Vng(Target):
    """Both ends in one guest."""

    def __init__(self, value: str, client: Client) -> None:
        super().__init__(value, client)
        self.guest = guest_open(value)
        self.boot_s = BOOT_S[self.guest.hypervisor.hardware]

    def place(self, words: Mapping[str, str]) -> Place:
        """The guest."""
        return self.guest

    def words_check(self, words: Mapping[str, str]) -> None:
        """UsageError for words that need something outside of it."""
        outside_refuse(self.value, "a guest", words)

    def retry_place(self, words: Mapping[str, str]) -> Place:
        """The guest once more, and what its kernel says."""
        return replace(self.guest, verbose=True)

    def facts(self, words: Mapping[str, str]) -> dict[str, Any]:
        """None yet: each boot is a machine of its own, and a batch begins with its facts."""
        return {}

    def identity(self) -> dict[str, str]:
        """Which kernel it is, and by what it is booted."""
        hypervisor = self.guest.hypervisor
        return {"kernel": self.guest.image.release, "image": self.guest.image.digest,
                "virtme-ng": hypervisor.version,
                "processor": "hardware" if hypervisor.hardware else "emulated"}
