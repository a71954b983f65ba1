# SPDX-License-Identifier: MIT
"""Renders the examples in README.md and docs/*.md from the reference results.

scripts/readme [--check] [PAGE...]. An example is a block: its first line is a command on a
reference result, and the output of the command follows. A picture of docs/pictures is an example
too, if a comment above it has the command that draws it. The data beside a picture (.dat) are
compared. A table of the bench stands between a comment with its command and `<!-- end -->`. --check
changes nothing: it prints all differences, and exits with 1 if there are any.

The exit status is also 1 if a sentence of README.md has a figure that none of its examples has.
"""

import argparse
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```\n\$ (uncork \w+ reference/(?:.*\\\n)?.*)\n(?:.*\n)*?```$",
                   re.MULTILINE)
BENCH = re.compile(r"^<!-- (bench/run --read .*) -->\n(?:.*\n)*?<!-- end -->$", re.MULTILINE)
PICTURE = re.compile(
    r"^<!-- (uncork plot reference/.*) -->\n!\[[^]]*\]\((?:\.\./docs/|docs/)?"
    r"(pictures/[\w-]+)\.png\)$", re.MULTILINE)
# a measured figure: a ratio, a percentage, a time, a number of times
FIGURE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:x\b| ?%(?! interval)| (?:us|ms|times)\b)")


def output_of(command: str, folder: Path) -> str:
    """The output of a command that runs in the root of the tree; a failure ends the program.
    folder: the command may write results into it."""
    script = f'uncork() {{ {shlex.quote(str(ROOT / "scripts" / "uncork"))} "$@"; }}; {command}'
    done = subprocess.run(["bash", "-o", "pipefail", "-c", script], cwd=ROOT, text=True,
                          capture_output=True,
                          env=os.environ | {"COLUMNS": "100", "UNCORK_RESULTS": str(folder)})
    if done.returncode not in (0, 141):  # 141: SIGPIPE, by head(1)
        sys.exit(f"{command}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def picture_draw(command: str, stem: Path, folder: Path, check: bool) -> str:
    """Draws a picture, stores it unless check, and returns how its data differ from the stored."""
    drawn = output_of(f"{command} -o {shlex.quote(str(folder))}", folder).split()
    found = [Path(name) for name in drawn if name.endswith(".png")]
    if len(found) != 1:
        sys.exit(f"{command}: draws {len(found)} pictures, not one")
    fresh, kept = found[0].with_suffix(".dat"), stem.with_suffix(".dat")
    before = kept.read_text() if kept.exists() else ""
    if not check:
        shutil.copy(fresh, kept)
        shutil.copy(found[0], stem.with_suffix(".png"))
    return difference(before, fresh.read_text(), kept)


def difference(before: str, after: str, path: Path) -> str:
    """A unified diff of two texts; empty if they are equal."""
    return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True),
                                        str(path), "as rendered now"))


def figures_unproved(page: str) -> list[str]:
    """The figures in the sentences of a page that are in none of its examples."""
    shown = " ".join(match[0] for match in BLOCK.finditer(page))
    prose = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page, flags=re.MULTILINE | re.DOTALL)
    return [figure for figure in FIGURE.findall(prose)
            if not re.search(rf"(?<![\d.]){re.escape(re.split(' |x|%', figure)[0])}(?![\d.]*\d)",
                             shown)]


def page_render(path: Path, check: bool) -> str:
    """Renders a page and its pictures, and returns what differed."""
    page = path.read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fresh = BLOCK.sub(lambda block: f"```\n$ {block[1]}\n{output_of(block[1], folder)}```",
                          page)
        fresh = BENCH.sub(lambda table: f"<!-- {table[1]} -->\n{output_of(table[1], folder)}"
                                        "<!-- end -->", fresh)
        pictures = "".join(picture_draw(picture[1], ROOT / "docs" / picture[2],
                                        folder / str(number), check)
                           for number, picture in enumerate(PICTURE.finditer(page)))
    if not check and fresh != page:
        path.write_text(fresh)
    return difference(page, fresh, path) + pictures


def main() -> int:
    """The exit status: 1 if --check found a difference, or a figure is in no example; else 0."""
    parser = argparse.ArgumentParser(prog="scripts/readme", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, print differences")
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE",
                        help="default: README.md and docs/*.md")
    options = parser.parse_args()
    pages = options.pages or [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    differences = "".join(page_render(path, options.check) for path in pages)
    unproved = {path: figures_unproved(path.read_text()) for path in pages
                if path.name == "README.md"}
    sys.stdout.write(differences)
    for path, figures in unproved.items():
        for figure in figures:
            print(f"{path}: no example of the page has the figure of \"{figure}\"")
    return int(bool(differences and options.check or any(unproved.values())))


if __name__ == "__main__":
    sys.exit(main())
