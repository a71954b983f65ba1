# SPDX-License-Identifier: MIT
"""How far a matrix is as a bar on a terminal, by rich. Imported only where there is a terminal."""

from __future__ import annotations

from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column

from suite.measure.progress import FigureText, Pace, Watch, cell_short
from suite.measure.schedule import Run


class Bar(Watch):
    """A bar with the cell that runs, and the last figure of that cell. figure: gives the text of a
    record. stream: the terminal."""

    def __init__(self, pace: Pace, axes: tuple[str, ...], last_round: int, figure: FigureText,
                 stream: TextIO) -> None:
        super().__init__(pace, axes, last_round)
        self.figure = figure
        self.figures: dict[str, str] = {}
        self.bar = Progress(
            BarColumn(bar_width=10),
            MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=9)),
            TextColumn("{task.fields[left]}", table_column=Column(no_wrap=True, min_width=10)),
            TextColumn("{task.description}", markup=False,
                       table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
            console=Console(file=stream), transient=True, expand=True, auto_refresh=False)
        self.task = self.bar.add_task("", total=pace.total, left="")

    def __enter__(self) -> Bar:
        """Shows the bar."""
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Takes the bar away again."""
        super().__exit__(*error)
        self.bar.stop()

    def say(self, text: str) -> None:
        """A line above the bar."""
        self.bar.console.print(text, markup=False, highlight=False)

    def begin(self, run: Run) -> None:
        """Draws how far it is, and names the cell with the figure that it had last time."""
        text = (f"{self.round_text(run)}: {cell_short(run, self.axes)} "
                f"{self.figures.get(run.cell.name, '')}")
        self.bar.update(self.task, description=text.strip(), total=self.pace.total,
                        completed=self.pace.done, left=self.pace.left_text,
                        refresh=True)
        super().begin(run)

    def end(self, run: Run, record: dict[str, Any]) -> None:
        """Keeps the figure."""
        super().end(run, record)
        self.figures[run.cell.name] = self.figure(record)
