# SPDX-License-Identifier: MIT
"""`uncork plot RESULTS [kind=...] [metric=...] [of=...] [x=...] [-o DIR]`."""

from __future__ import annotations

import argparse
from pathlib import Path

from suite.analyse.frame import matrix_build
from suite.analyse.results import result_load
from suite.base.errors import UsageError, nearest_hint
from suite.present.pictures.gnuplot import ROOT, drawing_write
from suite.present.pictures.plot import drawings_make
from suite.scenario.scenario import PICTURES, Picture
from suite.stats.histogram import histogram_find

HELP = "a result as pictures: png, svg and 72 columns of text, with their .dat and .gp"
WORDS = ("kind", "metric", "of", "x")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `uncork plot`."""
    parser.add_argument("results", type=Path, metavar="RESULTS", help="folder of a result")
    parser.add_argument("words", nargs="*", default=[], metavar="WORD",
                        help=f"kind=KIND,...: these instead of the scenario's pictures ({', '.join(PICTURES)}); "
                             "metric=METRIC,... or of=HISTOGRAM,...: what they show; x=WORD: along which word")
    parser.add_argument("-o", dest="folder", type=Path, metavar="DIR",
                        help="where the pictures go (default: plots/NAME of this repository)")


def words_read(words: list[str]) -> dict[str, list[str]]:
    """The words of the shell: each once, x with one value, the others with several."""
    chosen: dict[str, list[str]] = {}
    for word in words:
        key, equals, value = word.partition("=")
        names = value.split(",")
        if not equals or key not in WORDS:
            raise UsageError(f'"{word}": plot takes kind=..., metric=..., of=... and x=...'
                             f"{nearest_hint(key, WORDS) if equals else ''}")
        if key in chosen or len(set(names)) < len(names):
            raise UsageError(f'"{word}": {key if key in chosen else "a name"} is given twice')
        if "" in names or (key == "x" and len(names) > 1):
            raise UsageError(f'"{word}": {"an empty name" if "" in names else "x takes one word"}')
        chosen[key] = names
    return chosen


def pictures_read(words: list[str]) -> list[Picture]:
    """The pictures that the shell asks for, each kind with each metric or histogram; none without
    words."""
    chosen = words_read(words)
    if words and "kind" not in chosen:
        raise UsageError(f'"{words[0]}": of which kind of picture? kind={",".join(PICTURES)}')
    pictures, used = [], {"kind", "x"}
    for kind in chosen.get("kind", ()):
        if kind not in PICTURES:
            raise UsageError(f'"kind={kind}" is no kind of picture{nearest_hint(kind, PICTURES)}')
        key = PICTURES[kind]
        used.add(key or "")
        for what in chosen.get(key or "", (None,)):
            of = histogram_find(what, "of") if what and key == "of" else None
            pictures.append(Picture(kind, what if key == "metric" else None, of,
                                    chosen.get("x", [None])[0], None))
    idle = next((key for key in chosen if key not in used), None)
    if idle:
        raise UsageError(
            f'"{idle}={",".join(chosen[idle])}": no picture of kind={",".join(chosen["kind"])} takes it')
    return pictures


def main(options: argparse.Namespace) -> int:
    """Draws, and prints the name of each picture."""
    asked = pictures_read(options.words)
    matrix = matrix_build(result_load(options.results))
    folder = options.folder or ROOT / "plots" / matrix.result.name
    folder.mkdir(parents=True, exist_ok=True)
    for drawing in drawings_make(matrix, asked):
        for path in drawing_write(drawing, folder):
            print(path)
    return 0
