# SPDX-License-Identifier: MIT
"""target=vng:IMAGE: another Linux kernel, which virtme-ng boots once for all cells of a round.

The guest sees the files of this machine, read only, so that the same programs run there. virtme-ng
needs, without documenting it: its own folder on PATH, a pipe as standard output, and paths without
blanks on the kernel's command line. After a crash of the guest its status is 255, without a
message; after a hang it never ends.
"""

import hashlib
import json
import os
import platform
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from suite.base.client import ROOT, Client, complaint_text
from suite.base.errors import Failure, UsageError, all_tried
from suite.base.installation import SETUP, pypi_find, setup_hint
from suite.base.process import PlacedCommand, process_run
from suite.base.runner_words import EXACT_ONLY
from suite.base.text import say
from suite.places.target import Target
from suite.scenario.subject import definitions_file

VNG = "vng"
NEEDED = {VNG: "virtme-ng", "qemu-system-x86_64": "qemu", "modprobe": "kmod", "udevadm": "udev",
          "busybox": "busybox", "file": "file"}
MODULES = Path("/sys/module")
MODULES_FOLDERS = ("lib/modules", "usr/lib/modules")  # below the root of a kernel's image
HARDWARE = ("kvm_intel", "kvm_amd")  # without these a /dev/kvm may be unable to run a kernel
SMOKE_LIMIT_S = KERNELS_LIMIT_S = 30
# for a boot, by whether the processor runs guests; a boot takes 2 s, or emulated up to 30 s
BOOT_LIMIT_S = {True: 60.0, False: 180.0}
MEMORY = "1G"
EMULATED_CPUS = 4  # for client, proxy, server and control; more CPUs slow a boot down
SYSTEM_PATHS = "/usr/sbin:/sbin"  # modprobe is there, and not on the PATH of users
BIN = "/run/uncork/bin"  # the folder of the client, in the guest
SUBJECTS = "/run/uncork/subjects"  # the definitions of subjects there
TAKE_SUBJECTS = f"""IFS= read -r line && printf '%s\\n' "$line" >{SUBJECTS}; """
# The guest must end with the runner: when standard input ends, this kills all of virtme-ng.
KILL_AT_EOF = 'exec "$@" < <(exec 2>/dev/null; cat; kill -TERM -- -$$)'
KERNELS = ROOT / "scripts" / "setup" / "kernels"
IN_TREE = Path("arch/x86/boot/bzImage")  # in the folder of a kernel's sources
# file systems that share this machine's files with a guest
SHARES = {"9p": "CONFIG_9P_FS", "virtiofs": "CONFIG_VIRTIO_FS"}
say_once = cache(say)


# ---- the image of a value of `vng:`, read without booting it ----

class Image(NamedTuple):
    """A bzImage. digest: 16 hexadecimal digits of SHA-256. root: the folder with its modules, or
    its sources. options: for virtme-ng."""

    path: Path
    release: str
    digest: str
    root: Path
    options: tuple[str, ...]


def image_find(value: str, where: str) -> Image:
    """The image that the text behind `vng:` names. where: begins messages."""
    path = image_path(value, where)
    if shlex.quote(str(path)) != str(path):
        raise Failure(
            f"{where}: virtme-ng cannot have blanks or quotes in the path of a kernel: {path}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Failure(f"{where}: {path}: {error.strerror}") from None
    # in the header of a bzImage, 0x200 bytes from its start: the offset of the text of its release
    release = re.match(rb"[!-~]*", data[0x200 + int.from_bytes(data[0x20E:0x210], "little"):])
    if data[0x202:0x206] != b"HdrS" or not release or not release[0]:
        raise Failure(
            f"{where}: {path} is no Linux kernel for x86 (arch/x86/boot/bzImage, vmlinuz)")
    # The rule of virtme-ng: the first folder above with lib/modules, else the image's own folder.
    root = path.parents[3] if path.parts[-4:] == IN_TREE.parts else next(
        (folder for folder in path.parents
         if any((folder / modules).exists() for modules in MODULES_FOLDERS)), path.parent)
    return Image(path, release[0].decode(), hashlib.sha256(data).hexdigest()[:16], root,
                 share_options(root, release[0].decode(), where))


def image_path(value: str, where: str) -> Path:
    """The path of an image: in a folder of sources, that path, or one that was fetched."""
    path = Path(value).expanduser().absolute()
    if path.is_dir():
        if not (path / IN_TREE).exists():
            raise UsageError(f"{where}: there is no {IN_TREE} in {path}: run make bzImage there")
        return path / IN_TREE
    if path.exists() or "/" in value:
        return path
    kept = process_run([str(KERNELS), "--kept", value], "", KERNELS_LIMIT_S)
    if kept.returncode != 0:
        raise UsageError(f"{where}: {complaint_text(kept.stderr)}")
    return Path(kept.stdout.strip())


def share_options(root: Path, release: str, where: str) -> tuple[str, ...]:
    """How a guest shares this machine's files: virtiofs where both have it, else 9p. A kernel
    without a configuration and lists of modules counts as one with 9p."""
    names = [".config", *(f"{folder}/{release}/modules.{kind}" for folder in MODULES_FOLDERS
                          for kind in ("dep", "builtin"))]
    texts = [(root / name).read_text(errors="replace") for name in names if (root / name).exists()]
    has = {name: re.search(rf"^{option}=[ym]|/{name}\.ko", "\n".join(texts), re.MULTILINE)
           for name, option in SHARES.items()}
    if has["virtiofs"] and (shutil.which("virtiofsd") or Path("/usr/libexec/virtiofsd").exists()):
        return ()
    if has["9p"] or not texts:
        return ("--force-9p",)
    raise Failure(
        f"{where}: Linux {release} has no 9p, and this machine no virtiofsd: take a kernel "
        f"that has it ({SETUP} kernels --list), or cargo install --locked virtiofsd")


# ---- its guests ----

@dataclass(frozen=True)
class Guest:
    """Boots once for each command. path: PATH for virtme-ng. hardware: else it is emulated."""

    image: Image
    path: str
    version: str
    options: tuple[str, ...]
    hardware: bool = True

    @property
    def name(self) -> str:
        return f"in a guest with Linux {self.image.release}"

    def command(self, program: Path, arguments: Sequence[str], given: str = "") -> PlacedCommand:
        """A batch begins with the facts of the boot. The standard input of a guest is no pipe, but
        --with-parent needs one, so cat(1) makes one. Definitions of subjects are its first line."""
        command = shlex.join([f"./{program.name}", *(
            SUBJECTS if word == definitions_file() else word for word in arguments)])
        script = f"ip link set lo up; cd {BIN} || exit; "
        if "--subjects" in arguments:
            script += TAKE_SUBJECTS
            given = json.dumps(json.loads(Path(definitions_file()).read_text())) + "\n" + given
        # virtme-ng passes the folder to a shell
        share = f"--rodir={BIN}={shlex.quote(str(program.parent.absolute()))}"
        if "--with-parent" not in arguments:
            return self.boot(f"{script}exec {command}", share), given
        piped = shlex.quote(f"exec {command} < <(exec cat 2>/dev/null)")
        argv = self.boot(f"{script}./{program.name} --facts; exec bash -c {piped}", share)
        return ("bash", "-c", KILL_AT_EOF, "uncork", *argv), given

    def boot(self, script: str, *options: str) -> tuple[str, ...]:
        """The command that boots and runs a script for sh(1). The folder of modules is shared by
        name, because the guest may cover the folder above with its own, like /tmp."""
        count, root = len(os.sched_getaffinity(0)), self.image.root
        return ("env", f"PATH={self.path}", VNG, *self.options, "--cwd=/",
                f"--cpus={count if self.hardware else min(count, EMULATED_CPUS)}",
                f"--memory={MEMORY}", f"--run={self.image.path}",
                *(() if root == Path("/") else (f"--rodir={root}",)), *options, "--exec", script)


def search_path() -> str:
    """PATH with the folder of virtme-ng. Failure with all programs that are missing."""
    where = f"target={VNG}"
    if platform.machine() != "x86_64":
        raise Failure(f"{where}: guests are for x86-64 only, and this is {platform.machine()}")
    installed = [str(program.parent) for program in pypi_find(f"virtme-ng-*/bin/{VNG}")[-1:]]
    path = ":".join([os.environ.get("PATH", os.defpath), *installed, SYSTEM_PATHS])
    lacks = [f"{program} ({package})" for program, package in NEEDED.items()
             if shutil.which(program, path=path) is None]
    if lacks:
        raise Failure(f"{where}: {', '.join(lacks)} {'is' if len(lacks) == 1 else 'are'} missing: "
                      f"{setup_hint(VNG, len(lacks))}")
    return path


def hardware_works(guest: Guest) -> bool:
    """Whether the processor runs guests: its module is loaded, and a test boot ends in time."""
    if not any((MODULES / name).exists() for name in HARDWARE):
        return False
    try:
        return process_run(guest.boot("exit 7"), "", SMOKE_LIMIT_S).returncode == 7
    except Failure:
        return False


class Vng(Target):
    isolated = "a guest"

    def __init__(self, value: str, client: Client) -> None:
        super().__init__(value, client)
        where, path = f"target={value}", search_path()
        image = image_find(value.partition(":")[2], where)
        printed = process_run(["env", f"PATH={path}", VNG, "--version"], "", SMOKE_LIMIT_S, VNG)
        version = (printed.stdout.split() or ["unknown"])[-1]
        self.guest = Guest(image, path, version, image.options)
        if not hardware_works(self.guest):
            say_once("no hardware virtualisation (kvm_intel, kvm_amd): guests are emulated: "
                     f"{EXACT_ONLY}")
            self.guest = replace(self.guest, options=("--disable-kvm", *self.guest.options),
                                 hardware=False)

    @classmethod
    def require(cls, value: str) -> None:
        """Checks the image, its shared file systems, virtme-ng and the programs that this needs."""
        name, where = value.partition(":")[2], f"target={value}"
        all_tried([*([partial(image_find, name, where)] if name else []), search_path])

    def client(self, words: Mapping[str, str]) -> Client:
        client = replace(super().client(words), place=self.guest,
                         boot_s=BOOT_LIMIT_S[self.guest.hardware])
        # -v: the kernel's messages go to standard error
        again = replace(self.guest, options=(*self.guest.options, "-v"))
        return replace(client, retry=replace(client, place=again))

    def facts(self, words: Mapping[str, str]) -> dict[str, Any]:
        """Empty: each boot is a machine of its own, and its batch begins with its facts."""
        return {}

    def identity(self) -> dict[str, str]:
        return {"kernel": self.guest.image.release, "image": self.guest.image.digest,
                "virtme-ng": self.guest.version,
                "processor": "hardware" if self.guest.hardware else "emulated"}
