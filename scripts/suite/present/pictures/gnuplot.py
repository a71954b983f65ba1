# SPDX-License-Identifier: MIT
"""Writes NAME.dat and NAME.gp, and draws the pictures with gnuplot in a folder of its own, because
gnuplot would write into links and wait for pipes. Only this module here uses files."""

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from suite.base.client import ROOT
from suite.base.errors import Failure
from suite.base.installation import setup_hint
from suite.present.pictures.parts import Drawing
from suite.result.files import file_write

IMAGE_FORMATS = ("png", "svg", "pdf", "txt")


def gnuplot_run(script: Path) -> None:
    """Runs a script in its folder. Failure with the last line of gnuplot's errors."""
    try:
        done = subprocess.run(["gnuplot", script.name], cwd=script.parent, capture_output=True,
                              text=True, errors="replace", stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise Failure(f"gnuplot is missing: {setup_hint()}") from None
    if done.returncode != 0:  # a series without any value is only a warning
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip(" ^\n")]
        raise Failure(f"{script.name}: gnuplot says: {lines[-1] if lines else 'nothing'}")


def picture_bytes(path: Path, drawing: Drawing) -> bytes:
    """A picture that gnuplot drew. An SVG, which gnuplot draws in units, gets a size in inches if a
    unit is not a pixel. Pictures in text lose trailing blanks and repeated empty lines."""
    if path.suffix not in (".svg", ".txt"):
        return path.read_bytes()
    text, unit = path.read_text(encoding="utf-8"), drawing.settings["unit"]
    if path.suffix == ".txt":
        lines = "\n".join(line.rstrip() for line in text.splitlines())
        text = re.sub(r"\n{3,}", "\n\n", lines).strip("\n") + "\n"
    elif unit != 1.0:
        text = re.sub(r'(width|height)="(\d+)"', lambda side:
                      f'{side[1]}="{int(side[2]) * unit / 96:.4g}in"', text, count=2)
    return text.encode()


def drawing_write(drawing: Drawing, folder: Path, formats: Sequence[str] = IMAGE_FORMATS
                  ) -> list[Path]:
    """Writes NAME.dat and NAME.gp, and draws; gives the paths of the pictures."""
    start, template = ((ROOT / "plots" / f"{name}.gp").read_text(encoding="utf-8")
                       for name in ("start", drawing.template))
    script, pictures = f"{drawing.name}.gp", [f"{drawing.name}.{form}" for form in formats]
    with tempfile.TemporaryDirectory(prefix="uncork-") as drawn:
        for name, text in (
                (f"{drawing.name}.dat", drawing.data),
                (script, f"formats = '{' '.join(formats)}'\n{drawing.script}{start}"
                         'do for [format in formats] {\ntext = format eq "txt"\n'
                         f"{template}set output\nreset\n}}\n")):
            file_write(folder / name, text)
            Path(drawn, name).symlink_to((folder / name).absolute())
        gnuplot_run(Path(drawn, script))
        for name in pictures:
            file_write(folder / name, picture_bytes(Path(drawn, name), drawing))
    return [folder / name for name in pictures]
