# SPDX-License-Identifier: MIT
"""A posted block read again: quoted, indented, inside a longer mail, in either style. Pure.

Every text of a block gets a name of its own, so that two blocks can be held against each other. A
line of it that this reader does not know is such a text as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from suite.analyse.metrics import METRICS
from suite.present.mail.command import RUN_COMMAND
from suite.present.mail.figures import WIDTH

QUOTED = re.compile(r"^\s*(?:>\s?)*\s*")
FOLDED = {"\u00b1": "+/-", "\u00b5": "u", "\u03bc": "u", "\u2192": "->", "\u00a0": " ", "\r": ""}
HEAD = re.compile(r"(base|cells): +(\S.*)")
LABELLED = re.compile(r"(new|with|at): +(\S.*)")
TITLE = re.compile(r"(\w[\w ]*?)(?:, (\S+))? \((lower|higher) is better\)")
WORDS_LINE = re.compile(r"[a-z][a-z0-9_.-]*=\S+( [a-z][a-z0-9_.-]*=\S+)*")
FIGURE = re.compile(r"95% CI|\[[^]\s]+, [^]\s]+\]|\S+")
PIPE = re.compile(r"(?<!\\)\|")
TOTAL = re.compile(r"geomean of \d+( of \d+)? cells(, n=\d+)?")
BELOW = re.compile(r"(machine|differs|remarks): ")
ROUNDS = re.compile(r"n=[\d.]+(,| [a-z])|no row has it on both sides")
ITEM = re.compile(r"- (?=(base|new|cells|with|at|machine|differs|remarks): |n=|no row )")
BROKEN = re.compile(r"\[\S+,$")  # what ends here was broken within an interval by a mail program

Name = tuple[str, ...]


@dataclass
class Posted:
    """What one block says. heads: by label. metrics: in order. texts: everything that can be
    recomputed, by name."""

    heads: dict[str, str] = field(default_factory=dict)
    metrics: list[str] = field(default_factory=list)
    texts: dict[Name, str] = field(default_factory=dict)
    unread: int = 0  # lines of it that are no part of a block


class BlockReader:
    """Reads the lines of a mail one by one; blocks are what it has found."""

    def __init__(self) -> None:
        self.blocks: list[Posted] = []
        # how often the block is quoted: what is quoted otherwise was written between its lines
        self.depth = 0
        self.ended = True
        self.label = ""  # of the head that may go on in the next line
        # the text that may go on in the next line, where a mail program broke it
        self.below: Name | None = None
        self.title = ""
        self.at: tuple[str, ...] = ()
        self.columns: list[str] | None = None

    @property
    def block(self) -> Posted:
        """The block that is being read."""
        return self.blocks[-1]

    def store(self, name: Name, text: str) -> None:
        """Keeps a text; of one that is there twice both."""
        known = self.block.texts.get(name)
        self.block.texts[name] = text if known is None else f"{known} and {text}"

    def unread_take(self, line: str) -> None:
        """A line that this reader does not know: a damaged one, or one from elsewhere."""
        self.block.unread += 1
        name = self.title or "block", f"unread line {self.block.unread}"
        self.store(name, " ".join(line.split()))

    def take(self, depth: int, line: str) -> None:
        """Takes one line, without quotes; what is no part of a block is left alone."""
        head = HEAD.fullmatch(line)
        if head and (self.ended or depth == self.depth):
            self.blocks.append(Posted())
            self.depth, self.ended, self.below = depth, False, None
            self.title, self.at, self.columns = "", (), None
            self.head_take(head[1], head[2])
        elif not self.ended and depth == self.depth:
            if line:
                self.line_take(line)
            else:
                self.below = None

    def line_take(self, line: str) -> None:
        """Takes a line that may belong to the block."""
        labelled, title = LABELLED.fullmatch(line), TITLE.fullmatch(line)
        if labelled:
            self.head_take(labelled[1], labelled[2])
        elif self.label and WORDS_LINE.fullmatch(line):
            self.head_take(self.label, line)
        elif title and title[1].lower().replace(" ", "_") in METRICS:
            self.title_take(title[1], title[2] or "", title[3])
        elif line.startswith(RUN_COMMAND):
            self.below_take((f"command {self.commands + 1}",), line)
        elif self.below and self.goes_on(line):
            self.block.texts[self.below] += f" {line}"
        elif not line.startswith("```"):
            self.label = ""
            self.ended = self.commands > 0
            if not self.ended:
                self.table_take(line)

    @property
    def commands(self) -> int:
        """How many commands the block has so far."""
        return sum(name[0].startswith("command") for name in self.block.texts)

    def goes_on(self, line: str) -> bool:
        """Whether the line below a table, or the command, that was taken last goes on in this
        one."""
        command = self.below is not None and self.below[0].startswith("command")
        return WORDS_LINE.fullmatch(line) is not None if command else not begins_below(line)

    def below_take(self, name: Name, text: str) -> None:
        """A line below a table, or a command: a block ends with the last of these."""
        self.store(name, text)
        self.below = name

    def head_take(self, label: str, text: str) -> None:
        """A line above a table, or what it goes on with."""
        self.label = label
        if label == "at":
            self.at += tuple(text.split())
        else:
            self.block.heads[label] = f"{self.block.heads.get(label, '')} {text}".strip()

    def title_take(self, title: str, unit: str, better: str) -> None:
        """The line that says what the table below is of."""
        name = title.lower().replace(" ", "_")
        self.title, self.at, self.columns, self.label = title, (), None, ""
        if name not in self.block.metrics:
            self.block.metrics.append(name)
        for key, text in (("unit", unit), ("better", better)):
            if self.block.texts.get((title, key)) != text:  # a grid that was cut has several titles
                self.store((title, key), text)

    def table_take(self, line: str) -> None:
        """A line of a table, or one below."""
        columns, cells = self.columns or [], cells_split(line)
        label, figures = total_split(line)
        if ROUNDS.match(line) and self.title:
            self.below_take((self.title, "rounds"), line)
        elif BELOW.match(line):
            self.below_take((line.partition(":")[0],), line.partition(": ")[2])
        elif self.title and not columns and is_heads(cells):
            self.columns = columns_name(cells)
        elif label and 0 < len(figures) < len(columns):  # they are of the last columns
            for column, figure in zip(columns[-len(figures):], figures, strict=True):
                self.store((self.title, label, column), figure)
        elif is_rule(cells):
            pass
        elif columns and len(cells) == len(columns):
            self.row_take(columns, cells)
        else:
            self.unread_take(line)

    def row_take(self, columns: Sequence[str], cells: Sequence[str]) -> None:
        """A row: its names, then its figures."""
        axes = next(index for index, column in enumerate(columns) if column in FIRST_FIGURES)
        row = " ".join([*self.at,
                        *(f"{axis}={cell}" for axis, cell in zip(columns[:axes], cells,
                            strict=False))])
        for column, cell in zip(columns[axes:], cells[axes:], strict=True):
            self.store((self.title, row, column), cell)


FIRST_FIGURES = frozenset(("base", "change", "median"))


def cells_split(line: str) -> list[str]:
    """The texts of one line of a table."""
    if not line.startswith("|"):
        return FIGURE.findall(line)
    bare = line.removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in PIPE.split(bare)]


def total_split(line: str) -> tuple[str, list[str]]:
    """The label of the line under all rows, empty where it is another, and the figures."""
    bare = line.replace("|", " ").lstrip()
    label = TOTAL.match(bare)
    return (label[0], FIGURE.findall(bare[label.end():])) if label else ("", [])


def columns_name(heads: Sequence[str]) -> list[str]:
    """The heads, each `+/-` after the column that it belongs to."""
    return [f"{heads[index - 1]} {head}" if head == WIDTH else head
            for index, head in enumerate(heads)]


def begins_below(line: str) -> bool:
    """Whether a line below a table begins here."""
    return line.startswith("```") or any(begin.match(line) for begin in (ROUNDS, BELOW))


def is_heads(cells: Sequence[str]) -> bool:
    """Whether this is the line above the rows; one without figures is a sentence."""
    return WIDTH in cells and not FIRST_FIGURES.isdisjoint(cells) or {"change",
        "95% CI"} <= set(cells)


def is_rule(cells: Sequence[str]) -> bool:
    """Whether this is the line between the heads and the rows, or the wrapped end of a row."""
    return all(re.fullmatch(r"(:?-{3,}:?)?", cell) for cell in cells)


def line_bare(line: str) -> tuple[int, str]:
    """How often a line is quoted, and what it says without quotes, indentation, symbols and the
    marks of Markdown."""
    for symbol, text in FOLDED.items():
        line = line.replace(symbol, text)
    quotes = QUOTED.match(line)
    depth = quotes[0].count(">") if quotes else 0
    bare = QUOTED.sub("", line).rstrip()
    if bare.startswith("**") and bare.endswith("**"):
        return depth, bare[2:-2]
    item = ITEM.match(bare)
    return depth, bare[item.end():] if item else bare


def lines_join(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Bare lines; one that ends with a backslash or within an interval goes on in the next that is
    quoted as often."""
    joined: list[tuple[int, str]] = []
    last: dict[int, int] = {}  # by depth, where in joined its last line is
    for depth, line in map(line_bare, lines):
        before = joined[last[depth]][1] if depth in last else ""
        if before.endswith("\\"):
            joined[last[depth]] = depth, before[:-1] + line
        elif BROKEN.search(before):
            joined[last[depth]] = depth, f"{before} {line}"
        else:
            last[depth] = len(joined)
            joined.append((depth, line))
    return joined


def blocks_read(text: str) -> list[Posted]:
    """All blocks in a text, in order; those that have figures."""
    reader = BlockReader()
    for depth, line in lines_join(text.splitlines()):
        reader.take(depth, line)
    return [block for block in reader.blocks if block.metrics and len(block.texts) > 1]


def side_words(text: str) -> Mapping[str, str]:
    """The words of a head: `write=cork`, or `NAME; write=cork`; none where it is only a name."""
    words = text.rpartition("; ")[2]
    if not WORDS_LINE.fullmatch(words):
        return {}
    return dict(word.split("=", 1) for word in words.split())
