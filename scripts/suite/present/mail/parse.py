# SPDX-License-Identifier: MIT
"""Reads a posted block: quoted, indented, inside a longer mail, in either style. Pure. Every text
of a block, unknown lines too, gets a unique name: two blocks can be compared text by text."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser

from suite.contrast.contrast import Unit
from suite.observe.metrics import METRICS
from suite.present.comparison.wording import CHANGE, INTERVAL
from suite.present.mail.block import NO_FIGURES, WIDTH
from suite.present.mail.command import RESULTS, RUN_COMMAND
from suite.present.mail.foot import LABELS, LABELS_OF_CLAIMS

QUOTED = re.compile(r"^\s*(?:>\s?)*\s*")
FOLDED = str.maketrans({"\u00b1": "+/-", "\u00b5": "u", "\u03bc": "u", "\u2192": "->",
                        "\u00a0": " ", "\r": ""})
HEADS = ("base", "cells", "new", "axis", "with", "at")  # labels of the lines above a table
HEAD = re.compile(r"(base|cells): +(\S.*)")  # with which a block begins
LABELLED = re.compile(r"(new|axis|with|at): +(\S.*)")
TITLE = re.compile(r"(\w[\w ]*?)(?:, (\S+))? \((lower|higher) is better\)")
TYPED = r"[a-z][a-z0-9_.-]*=\S+"
WORDS_LINE = re.compile(rf"{TYPED}( {TYPED})*")
COMMAND_LINE = re.compile(rf"(({TYPED}|--more|-o|{RESULTS}/\S+)( |$))+")
FIGURE = re.compile(rf"{INTERVAL}|\[[^]\s]+, [^]\s]+\]|\S+")
FIRST_FIGURES = frozenset(("base", CHANGE, "median"))  # heads with which figures begin
PIPE = re.compile(r"(?<!\\)\|")
TOTAL = re.compile(r"geomean(=all)? of \d+( of \d+)? cells(, n=\d+)?")
BELOW_LABELS = "|".join((*LABELS, *LABELS_OF_CLAIMS))
BELOW = re.compile(rf"({BELOW_LABELS}): ")
ROUNDS = re.compile(rf"n=[\d.]+ (and \d|({'|'.join(unit.value for unit in Unit)})s?\b)"
                    f"|no row has it on both sides|{NO_FIGURES}:")
ITEM = re.compile(rf"- (?=({'|'.join(HEADS)}|{BELOW_LABELS}): |n=|no row "
                  f"|{NO_FIGURES}:)")
BROKEN = re.compile(r"\[\S+,$")  # the end of a line that a mail program broke within an interval
SIGNATURE = "-- "
NO_TEXT = "nothing"  # in place of a text that one of the two blocks lacks

Name = tuple[str, ...]


@dataclass
class PostedBlock:
    """A posted block, read line by line.

    depth: its quoting depth; lines of another depth are replies between its lines. texts: all its
    texts by name, in its order; those above the tables by their label. unread: the number of lines
    that are unknown. continued: the name of the text that the next line may continue: a mail
    program may have broken it. place: the words that all rows of the table share.
    """

    depth: int
    metrics: list[str] = field(default_factory=list)
    texts: dict[Name, str] = field(default_factory=dict)
    unread: int = 0
    ended: bool = False
    commands: int = 0
    continued: Name = ()
    title: str = ""
    place: tuple[str, ...] = ()
    columns: Sequence[str] = ()

    @property
    def geomean_all(self) -> bool:
        """Whether its geometric means are those of geomean=all."""
        return any(part.startswith("geomean=all") for name in self.texts for part in name)

    def head(self, label: str) -> str:
        """The line above the tables with a label; empty without it."""
        return self.texts.get((label,), "")

    def store(self, name: Name, text: str) -> None:
        """Stores a text; if the name is known already, both texts."""
        known = self.texts.get(name)
        self.texts[name] = text if known is None else f"{known} and {text}"

    def line_read(self, line: str) -> None:
        labelled, title = LABELLED.fullmatch(line), TITLE.fullmatch(line)
        if not line:
            self.continued = ()
        elif labelled:
            self.head_read(labelled[1], labelled[2])
        elif title and metric_of(title[1]) in METRICS:
            self.title_read(title[1], title[2] or "", title[3])
        elif (command := line.removeprefix("scripts/")).startswith(RUN_COMMAND):  # of a checkout
            self.commands += 1
            self.below_read((f"command {self.commands}",), command)
        elif self.continued and self.is_continuation(line):
            if self.continued[0] in HEADS:
                self.head_read(self.continued[0], line)
            else:
                self.texts[self.continued] += f" {line}"
        elif not line.startswith("```"):
            self.ended = self.commands > 0
            if not self.ended:
                self.table_line_read(line)

    def is_continuation(self, line: str) -> bool:
        """Whether this line continues the head, the command, or the line below a table."""
        if self.commands:
            return COMMAND_LINE.fullmatch(line) is not None
        if self.continued[0] in HEADS:
            return WORDS_LINE.fullmatch(line) is not None
        return not (line.startswith("```") or ROUNDS.match(line) or BELOW.match(line))

    def below_read(self, name: Name, text: str) -> None:
        """A line below a table, or a command; the next line may continue it."""
        self.store(name, text)
        self.continued = name

    def head_read(self, label: str, text: str) -> None:
        """A line above a table, or its continuation."""
        self.continued = (label,)
        if label == "at":
            self.place += tuple(text.split())
        else:
            self.texts[self.continued] = f"{self.head(label)} {text}".strip()

    def title_read(self, title: str, unit: str, better: str) -> None:
        """The title of a table: its metric, unit and direction."""
        self.title, self.place, self.columns, self.continued = title, (), (), ()
        if metric_of(title) not in self.metrics:
            self.metrics.append(metric_of(title))
        for key, text in (("unit", unit), ("better", better)):
            if self.texts.get((title, key)) != text:  # each part of a table has the title
                self.store((title, key), text)

    def figures_store(self, row: str, columns: Sequence[str], figures: Sequence[str]) -> None:
        for column, figure in zip(columns, figures, strict=True):
            self.store((self.title, row, column), figure)

    def table_line_read(self, line: str) -> None:
        columns, cells = self.columns, cells_split(line)
        bare = line.replace("|", " ").lstrip()
        label = TOTAL.match(bare)
        totals = FIGURE.findall(bare[label.end():]) if label else []
        if ROUNDS.match(line) and self.title:
            self.below_read((self.title, NO_FIGURES if line.startswith(NO_FIGURES) else "rounds"),
                            line)
        elif below := BELOW.match(line):
            self.below_read((below[1],), line[below.end():])
        elif self.title and not columns and (  # these words make it the heads of the columns
                WIDTH in cells and not FIRST_FIGURES.isdisjoint(cells)
                or {CHANGE, INTERVAL} <= set(cells)):
            self.columns = [f"{before} {head}" if head == WIDTH else head
                            for before, head in zip(cells[-1:] + cells, cells, strict=False)]
        elif label and 0 < len(totals) < len(columns):  # the row that sums up fills the last ones
            self.figures_store(label[0], columns[-len(totals):], totals)
        elif all(re.fullmatch(r"(:?-{3,}:?)?", cell) for cell in cells):
            pass  # the rule below the heads, or its wrapped end
        elif columns and len(cells) == len(columns):
            axes = next(index for index, column in enumerate(columns) if column in FIRST_FIGURES)
            row = " ".join([*self.place, *map("=".join, zip(columns[:axes], cells, strict=False))])
            self.figures_store(row, columns[axes:], cells[axes:])
        else:  # a damaged line, or one from elsewhere
            self.unread += 1
            name = self.title or "block", f"unread line {self.unread}"
            self.store(name, " ".join(line.split()))


def metric_of(title: str) -> str:
    return title.lower().replace(" ", "_")


def cells_split(line: str) -> list[str]:
    if not line.startswith("|"):
        return FIGURE.findall(line)
    bare = line.removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in PIPE.split(bare)]


def flowed_join(text: str, without_space: bool) -> str:
    """The paragraphs of a format=flowed text (RFC 3676): a line that ends with a space continues in
    the next line of the same quoting depth. without_space: DelSp=yes removes this space."""
    lines: list[tuple[int, str]] = []
    flows = False  # the last line continues
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip(">"))
        bare = line[depth:].removeprefix(" ")  # space-stuffing
        if flows and lines[-1][0] == depth and bare != SIGNATURE:
            lines[-1] = depth, lines[-1][1] + bare
        else:
            lines.append((depth, bare))
        flows = bare.endswith(" ") and bare != SIGNATURE
        if flows and without_space:
            lines[-1] = depth, lines[-1][1].removesuffix(" ")
    return "\n".join(">" * depth + " " * bool(depth) + bare for depth, bare in lines)


def decoded_text(part: EmailMessage) -> str:
    """The text of one part; bytes that its character set does not have are replaced."""
    try:
        text = part.get_content()
    except LookupError:  # an unknown character set
        payload = part.get_payload(decode=True)
        text = payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""
    declared = part["Content-Type"].params if "Content-Type" in part else {}
    if declared.get("format", "").lower() == "flowed":
        return flowed_join(text, declared.get("delsp", "").lower() == "yes")
    return str(text)


def mail_text(data: bytes) -> str:
    """All texts of a mail, one after the other. Data without mail headers are read as UTF-8."""
    mail = BytesParser(policy=policy.default).parsebytes(data)
    if not any(header in mail for header in ("Content-Type", "Content-Transfer-Encoding")):
        return data.decode("utf-8", "replace")
    return "\n".join(decoded_text(part) for part in mail.walk()
                     if part.get_content_maintype() == "text")


def line_bare(line: str) -> tuple[int, str]:
    """The quoting depth of a line, and the line without quotes, indentation and Markdown."""
    line = line.translate(FOLDED)
    bare = QUOTED.sub("", line)
    depth, bare = line[:len(line) - len(bare)].count(">"), bare.rstrip()
    if bare.startswith("**") and bare.endswith("**"):
        return depth, bare[2:-2]
    item = ITEM.match(bare)
    return depth, bare[item.end():] if item else bare


def lines_join(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Bare lines with their depth. A backslash or a broken interval continues in the next one."""
    joined: list[tuple[int, str]] = []
    last: dict[int, int] = {}  # by depth, the index in joined of its last line
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


def blocks_read(text: str) -> list[PostedBlock]:
    blocks: list[PostedBlock] = []
    for depth, line in lines_join(text.splitlines()):
        head, last = HEAD.fullmatch(line), blocks[-1] if blocks else None
        if head and (last is None or last.ended or depth == last.depth):
            blocks.append(PostedBlock(depth))
            blocks[-1].head_read(head[1], head[2])
        elif last and not last.ended and depth == last.depth:
            last.line_read(line)
    return [block for block in blocks if block.metrics]


def deviations_find(posted: PostedBlock, lines: Sequence[str]) -> list[str]:
    """A line for each text that differs. lines: those of the recomputed block."""
    old, new = posted.texts, blocks_read("\n".join(lines))[0].texts
    return [f"{', '.join(name)}: posted {old.get(name, NO_TEXT)}, recomputed "
            f"{new.get(name, NO_TEXT)}"
            for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]


def side_words(text: str) -> Mapping[str, str]:
    """The words of a head, `write=cork` or `NAME; write=cork`; none for a mere name."""
    words = text.rpartition("; ")[2]
    if not WORDS_LINE.fullmatch(words):
        return {}
    return dict(word.split("=", 1) for word in words.split())
