# SPDX-License-Identifier: MIT
"""What differs between a checkout and an installation (`cmake --install`, a package).

An installation has the file `installed`, which CMake writes. There the programs have a fixed
folder, and uncork writes below the working directory and the user's cache only.
"""

from pathlib import Path

from suite.base import ROOT, cache_place

MARK = ROOT / "installed"  # its line: the folder of the programs, from ROOT
# the folder of the programs of an installation
PROGRAMS = (ROOT / MARK.read_text("utf-8").strip()).resolve() if MARK.exists() else None
# where results are that have only a name
RESULTS = ROOT / "results" if PROGRAMS is None else Path("results")
SETUP = "scripts/setup/target" if PROGRAMS is None else "uncork setup"
BUILD_HINT = ("run scripts/demo, which installs what is missing and builds it" if PROGRAMS is None
              else "install uncork again (docs/install.md)")
STATIC_HINT = (f"{SETUP} static builds programs that need nothing there"
               if PROGRAMS is None else "static programs need nothing there: unpack those of the "
               "release, and set UNCORK_BIN to their folder (docs/install.md)")


def pypi_find(pattern: str) -> list[Path]:
    """The files with such a name among what scripts/setup/pypi.sh has installed, in order."""
    place = ROOT / "build" if PROGRAMS is None else cache_place()
    return sorted((place / "pypi").glob(pattern))


def setup_hint(name: str = "run", count: int = 1) -> str:
    """What installs the packages for a purpose of the table scripts/setup/packages. count: of what
    is missing."""
    return f"{SETUP} {name} installs {'it' if count == 1 else 'them'}"
