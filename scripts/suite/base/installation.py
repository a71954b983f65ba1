# SPDX-License-Identifier: MIT
"""What differs between a checkout and an installation (`cmake --install`, a package).

An installation has the file `installed`, which CMake writes: the programs are in the folder that it
names, and uncork writes only below the working directory and into the user's cache.
"""

from pathlib import Path

from suite.base import ROOT, cache_place

MARK = ROOT / "installed"  # its only line: the folder of the programs, relative to ROOT
# the folder of the programs of an installation; None in a checkout
PROGRAMS = (ROOT / MARK.read_text("utf-8").strip()).resolve() if MARK.exists() else None
# the folder in which the name of a result is looked up
RESULTS = ROOT / "results" if PROGRAMS is None else Path("results")
SETUP = "scripts/setup/target" if PROGRAMS is None else "uncork setup"
BUILD_HINT = ("run scripts/demo, which installs what is missing and builds it" if PROGRAMS is None
              else "install uncork again (docs/install.md)")
STATIC_HINT = (f"{SETUP} static builds programs that need nothing there"
               if PROGRAMS is None else "static programs need nothing there: unpack those of the "
               "release, and set UNCORK_BIN to their folder (docs/install.md)")


def pypi_find(pattern: str) -> list[Path]:
    """The files that match, sorted, among what scripts/setup/pypi.sh has installed."""
    place = ROOT / "build" if PROGRAMS is None else cache_place()
    return sorted((place / "pypi").glob(pattern))


def setup_hint(name: str = "run", count: int = 1) -> str:
    """The end of a message: the command that installs what is missing. name: a purpose of the table
    scripts/setup/packages, a target or a subject; count: how many things are missing."""
    return f"{SETUP} {name} installs {'it' if count == 1 else 'them'}"
