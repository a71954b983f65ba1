# SPDX-License-Identifier: MIT
"""Images of Linux kernels for guests: the image of a value of `vng:`, read without booting it."""

import hashlib
import re
import shlex
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

from suite.base.client import ROOT, complaint_text
from suite.base.errors import Failure, UsageError

KERNELS = ROOT / "scripts" / "setup" / "kernels"
KERNELS_S = 30
IN_TREE = Path("arch/x86/boot/bzImage")  # in the folder of a kernel's sources
# at 0x202 of a bzImage: "HdrS", and the offset of the release from 0x200
HEADER = struct.Struct("<4s8xH")
HEADER_AT, RELEASE_FROM = 0x202, 0x200
# file systems by which a guest sees this machine's files
SHARES = {"9p": "CONFIG_9P_FS", "virtiofs": "CONFIG_VIRTIO_FS"}


@dataclass(frozen=True)
class Image:
    """A bzImage. digest: 16 hexadecimal digits of SHA-256; root: the folder with its modules, or
    its sources; shares: those of SHARES that it has."""

    path: Path
    release: str
    digest: str
    root: Path
    shares: frozenset[str]


def image_find(value: str, where: str) -> Image:
    """The image of a value behind `vng:`: a path, or a version that scripts/setup/kernels has
    fetched. where: begins messages."""
    path = image_path(value, where)
    if shlex.quote(str(path)) != str(path):
        raise Failure(
            f"{where}: virtme-ng cannot have blanks or quotes in the path of a kernel: {path}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Failure(f"{where}: {path}: {error.strerror}") from None
    release = release_read(data)
    if release is None:
        raise Failure(
            f"{where}: {path} is no Linux kernel for x86 (arch/x86/boot/bzImage, vmlinuz)")
    # The rule of virtme-ng: the first folder above with lib/modules, else the image's own folder.
    root = path.parents[3] if path.parts[-4:] == IN_TREE.parts else next(
        (folder for folder in path.parents if modules_folders(folder)), path.parent)
    return Image(path, release, hashlib.sha256(data).hexdigest()[:16], root,
                 shares_read(root, release))


def image_path(value: str, where: str) -> Path:
    """The file: in a folder of sources, at that path, or among those that were fetched."""
    path = Path(value).expanduser()
    if path.is_dir():
        image = path.absolute() / IN_TREE
        if not image.exists():
            raise UsageError(f"{where}: there is no {IN_TREE} in {path}: make bzImage there")
        return image
    if path.exists() or "/" in value:
        return path.absolute()
    done = subprocess.run([str(KERNELS), "--kept", value], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", timeout=KERNELS_S)
    if done.returncode != 0:
        raise UsageError(f"{where}: {complaint_text(done.stderr)}")
    return Path(done.stdout.strip())


def release_read(data: bytes) -> str | None:
    """`6.1.0-50-amd64`, from the header of a bzImage; None for any other file."""
    try:
        magic, offset = HEADER.unpack_from(data, HEADER_AT)
    except struct.error:
        return None
    found = re.match(rb"[!-~]+", data[RELEASE_FROM + offset:][:256])
    return found[0].decode() if magic == b"HdrS" and offset and found else None


def modules_folders(root: Path) -> list[Path]:
    return [folder for folder in (root / "lib/modules", root / "usr/lib/modules")
            if folder.is_dir()]


def shares_read(root: Path, release: str) -> frozenset[str]:
    """Which of SHARES a kernel has, by its configuration or its lists of modules; 9p where it has
    neither."""
    config = root / ".config"
    if config.exists():
        texts, patterns = [config.read_text(errors="replace")], {
            name: rf"^{option}=[ym]" for name, option in SHARES.items()}
    else:
        lists = [folder / release / name for folder in modules_folders(root)
                 for name in ("modules.dep", "modules.builtin")]
        texts = [path.read_text(errors="replace") for path in lists if path.exists()]
        patterns = {name: rf"/{name}\.ko" for name in SHARES}
    return frozenset(name for name, pattern in patterns.items() if any(
        re.search(pattern, text, re.MULTILINE) for text in texts)) if texts else frozenset({"9p"})
