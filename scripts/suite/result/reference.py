# SPDX-License-Identifier: MIT
"""Reference results: finished results that come with uncork, named `reference/NAME`.

Each is one archive, results/reference/NAME.tar.xz, which `scripts/reference` writes. It is unpacked
into the user's cache when it is first read. Nothing is ever written into it.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
import tempfile
from pathlib import Path

from suite.base import ROOT, cache_place
from suite.base.errors import Failure, UsageError, nearest_hint

FOLDER, ENDING = "reference", ".tar.xz"
ARCHIVES = ROOT / "results" / FOLDER


def reference_names() -> list[str]:
    """The names of all, as a user gives them."""
    return [f"{FOLDER}/{path.name.removesuffix(ENDING)}"
            for path in sorted(ARCHIVES.glob(f"*{ENDING}"))]


def reference_named(given: Path) -> bool:
    """Whether a user who writes this means a reference result."""
    return len(given.parts) == 2 and given.parts[0] == FOLDER


def reference_is(folder: Path) -> bool:
    """Whether the folder of a result is that of an unpacked reference result."""
    return folder.parent.parent == cache_place() / FOLDER


def reference_find(given: Path) -> Path:
    """The folder of a reference result, unpacked; UsageError where there is none of the name,
    Failure where it cannot be unpacked."""
    archive = ARCHIVES / f"{given.name}{ENDING}"
    try:
        data = archive.read_bytes()
    except OSError:
        raise UsageError(f"{given}: no such folder, and no reference result"
                         f"{nearest_hint(str(given), reference_names())}") from None
    place = cache_place() / FOLDER / hashlib.blake2b(data, digest_size=8).hexdigest()
    if not (place / given.name).is_dir():
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=place.parent) as fresh:
                members_write(archive, Path(fresh) / place.name / given.name)
                (Path(fresh) / place.name).rename(place)
        except (OSError, tarfile.TarError) as error:
            if not (place / given.name).is_dir():  # else another process was faster
                raise Failure(f"{given}: cannot be unpacked into {place.parent}: {error}; "
                              "UNCORK_CACHE=FOLDER names another place") from None
    return place / given.name


def members_write(archive: Path, folder: Path) -> None:
    """Writes the files of the archive, by their last names only, into a new folder."""
    folder.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and (file := tar.extractfile(member)):
                (folder / os.path.basename(member.name)).write_bytes(file.read())


def output_place(folder: Path) -> Path:
    """Where a command writes what it makes of a result: beside it, but in the working directory for
    a reference result."""
    return Path() if reference_is(folder) else folder
