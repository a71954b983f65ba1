# SPDX-License-Identifier: MIT
"""`uncork plot RESULTS [kind=...] [metric=...] [of=...] [x=...] [size=...] [title=no] [note=no]
[WORD...] [-o DIR]`."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from suite.base.errors import Failure, UsageError, error_in
from suite.base.text import say
from suite.base.words import arguments_sort, names_split
from suite.commands import COMMANDS
from suite.observe.frame import matrix_load
from suite.observe.selection import left_out_text, matrix_narrow
from suite.present.pictures.gnuplot import drawing_write
from suite.present.pictures.plot import drawings_make
from suite.result.files import output_folder
from suite.scenario.scenario import HISTOGRAMS, LOOKS, PICTURES, Picture
from suite.scenario.toml import choice_read

PLOT_WORDS = COMMANDS["plot"].own


def pictures_asked(own: Mapping[str, str]) -> list[Picture]:
    """Each kind of picture that the words ask for, with each metric or histogram that it takes."""
    chosen = {key: names_split(key, value) for key, value in own.items()}
    if len(chosen.get("x", ())) > 1:
        raise UsageError(f'"x={own["x"]}": x takes one word')
    if own and "kind" not in own:
        key, value = next(iter(own.items()))
        raise UsageError(f'"{key}={value}": add the kind of picture, kind={"|".join(PICTURES)}')
    kinds = [choice_read(PICTURES, kind, "kind") for kind in chosen.get("kind", ())]
    taken = {"kind", "x", *map(PICTURES.get, kinds)}
    unused = next((key for key in own if key not in taken), None)
    if unused:
        raise UsageError(f'"{unused}={own[unused]}": no picture of kind={own["kind"]} takes it')
    for name in chosen.get("of", ()):
        choice_read(HISTOGRAMS, name, "of")
    pictures = list[Picture]()
    for kind in kinds:
        shown = PICTURES[kind] or ""
        what = [{shown: name} for name in chosen.get(shown, ())]
        pictures += [Picture(kind, x=own.get("x"), **one) for one in what or [{}]]
    return pictures


def uncork_plot(options: argparse.Namespace) -> None:
    if options.output == "-":
        raise UsageError("-o -: a picture is several files: give a folder")
    asked = arguments_sort(options.results, options.words, PLOT_WORDS)
    looks = {}
    for key, value in asked.own.items():
        if key in LOOKS:
            with error_in(f'"{key}={value}": '):
                looks[key] = LOOKS[key](value, key)
    pictures = pictures_asked({key: value for key, value in asked.own.items() if key not in LOOKS})
    matrix = matrix_narrow(matrix_load(options.results), asked.words, PLOT_WORDS)
    drawings = drawings_make(matrix, pictures, say, looks)
    if not drawings:
        raise Failure("no picture of the scenario can be drawn from this result: "
                      "choose one, kind=bars")
    say(left_out_text(matrix, asked.words))
    folder = Path(options.output) if options.output else output_folder(options.results) / "plots"
    folder.mkdir(parents=True, exist_ok=True)
    for drawing in drawings:
        for path in drawing_write(drawing, folder):
            print(path)
