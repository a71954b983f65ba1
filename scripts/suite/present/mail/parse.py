# SPDX-License-Identifier: MIT
"""A posted block read again: quoted, indented, inside a longer mail, in either style. Pure. Every
text of a block gets a name of its own, so that two blocks can be held against each other:
everything that differs, by name. A line that this reader does not know is such a text as well."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser

from suite.analyse.comparison.model import Unit
from suite.analyse.metrics import METRICS
from suite.present.mail.command import RESULTS, RUN_COMMAND
from suite.present.mail.figures import NO_FIGURES, WIDTH
from suite.present.mail.foot import LABELS, LABELS_OF_CLAIMS

QUOTED = re.compile(r"^\s*(?:>\s?)*\s*")
FOLDED = str.maketrans({"\u00b1": "+/-", "\u00b5": "u", "\u03bc": "u", "\u2192": "->",
                        "\u00a0": " ", "\r": ""})
HEAD = re.compile(r"(base|cells): +(\S.*)")
LABELLED = re.compile(r"(new|axis|with|at): +(\S.*)")
TITLE = re.compile(r"(\w[\w ]*?)(?:, (\S+))? \((lower|higher) is better\)")
TYPED = r"[a-z][a-z0-9_.-]*=\S+"
WORDS_LINE = re.compile(rf"{TYPED}( {TYPED})*")
COMMAND_LINE = re.compile(rf"(({TYPED}|--more|-o|{RESULTS}/\S+)( |$))+")
FIGURE = re.compile(r"95% CI|\[[^]\s]+, [^]\s]+\]|\S+")
PIPE = re.compile(r"(?<!\\)\|")
TOTAL = re.compile(r"geomean(=all)? of \d+( of \d+)? cells(, n=\d+)?")
BELOW_LABELS = "|".join((*LABELS, *LABELS_OF_CLAIMS))
BELOW = re.compile(rf"({BELOW_LABELS}): ")
ROUNDS = re.compile(rf"n=[\d.]+ (and \d|({'|'.join(unit.value for unit in Unit)})s?\b)"
                    f"|no row has it on both sides|{NO_FIGURES}:")
ITEM = re.compile(rf"- (?=(base|new|axis|cells|with|at|{BELOW_LABELS}): |n=|no row "
                  f"|{NO_FIGURES}:)")
BROKEN = re.compile(r"\[\S+,$")  # what ends here was broken within an interval by a mail program
SIGNATURE = "-- "
NO_TEXT = "nothing"  # in place of a text that one of two blocks has not

Name = tuple[str, ...]


@dataclass
class Posted:
    """heads: by label. metrics: in order. texts: everything that can be recomputed, by name."""

    heads: dict[str, str] = field(default_factory=dict)
    metrics: list[str] = field(default_factory=list)
    texts: dict[Name, str] = field(default_factory=dict)
    unread: int = 0  # lines of it that are no part of a block

    @property
    def every(self) -> bool:
        """Whether its geometric means are those of geomean=all."""
        return any(part.startswith("geomean=all") for name in self.texts for part in name)

    @property
    def said(self) -> dict[Name, str]:
        """All texts by name, those above the tables first."""
        return {**{(label,): text for label, text in self.heads.items()}, **self.texts}


@dataclass
class BlockReader:
    """Reads the lines of one block.

    depth: how often it is quoted; what is quoted otherwise was written between its lines.
    label: of the head that may go on in the next line. below: the name of the text that may go on
    in the next line, where a mail program broke it.
    """

    depth: int
    block: Posted = field(default_factory=Posted)
    ended: bool = False
    commands: int = 0
    label: str = ""
    below: Name | None = None
    title: str = ""
    at: tuple[str, ...] = ()
    columns: Sequence[str] = ()

    def store(self, name: Name, text: str) -> None:
        """Keeps a text; of one that is there twice both."""
        known = self.block.texts.get(name)
        self.block.texts[name] = text if known is None else f"{known} and {text}"

    def line_take(self, line: str) -> None:
        labelled, title = LABELLED.fullmatch(line), TITLE.fullmatch(line)
        if not line:
            self.below = None
        elif labelled:
            self.head_take(labelled[1], labelled[2])
        elif self.label and WORDS_LINE.fullmatch(line):
            self.head_take(self.label, line)
        elif title and title[1].lower().replace(" ", "_") in METRICS:
            self.title_take(title[1], title[2] or "", title[3])
        elif (command := line.removeprefix("scripts/")).startswith(RUN_COMMAND):  # of a checkout
            self.commands += 1
            self.below_take((f"command {self.commands}",), command)
        elif self.below and self.goes_on(line):
            self.block.texts[self.below] += f" {line}"
        elif not line.startswith("```"):
            self.label = ""
            self.ended = self.commands > 0
            if not self.ended:
                self.table_take(line)

    def goes_on(self, line: str) -> bool:
        """Whether the last command, or else the last line below a table, goes on in this one."""
        if self.commands:
            return COMMAND_LINE.fullmatch(line) is not None
        return not (line.startswith("```") or ROUNDS.match(line) or BELOW.match(line))

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
        self.title, self.at, self.columns, self.label = title, (), (), ""
        if name not in self.block.metrics:
            self.block.metrics.append(name)
        for key, text in (("unit", unit), ("better", better)):
            if self.block.texts.get((title, key)) != text:  # a grid that was cut has several titles
                self.store((title, key), text)

    def table_take(self, line: str) -> None:
        columns, cells = self.columns, cells_split(line)
        bare = line.replace("|", " ").lstrip()
        label = TOTAL.match(bare)
        figures = FIGURE.findall(bare[label.end():]) if label else []
        if ROUNDS.match(line) and self.title:
            self.below_take((self.title, NO_FIGURES if line.startswith(NO_FIGURES) else "rounds"),
                            line)
        elif BELOW.match(line):
            self.below_take((line.partition(":")[0],), line.partition(": ")[2])
        elif self.title and not columns and (  # a line without figures is a sentence
                WIDTH in cells and not FIRST_FIGURES.isdisjoint(cells)
                or {"change", "95% CI"} <= set(cells)):
            self.columns = [f"{before} {head}" if head == WIDTH else head
                            for before, head in zip(cells[-1:] + cells, cells, strict=False)]
        elif label and 0 < len(figures) < len(columns):  # they are of the last columns
            for column, figure in zip(columns[-len(figures):], figures, strict=True):
                self.store((self.title, label[0], column), figure)
        elif all(re.fullmatch(r"(:?-{3,}:?)?", cell) for cell in cells):
            pass  # the line between the heads and the rows, or the wrapped end of a row
        elif columns and len(cells) == len(columns):
            axes = next(index for index, column in enumerate(columns) if column in FIRST_FIGURES)
            row = " ".join([*self.at, *map("=".join, zip(columns[:axes], cells, strict=False))])
            for column, cell in zip(columns[axes:], cells[axes:], strict=True):
                self.store((self.title, row, column), cell)
        else:  # a damaged line, or one from elsewhere
            self.block.unread += 1
            name = self.title or "block", f"unread line {self.block.unread}"
            self.store(name, " ".join(line.split()))


FIRST_FIGURES = frozenset(("base", "change", "median"))


def cells_split(line: str) -> list[str]:
    if not line.startswith("|"):
        return FIGURE.findall(line)
    bare = line.removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in PIPE.split(bare)]


def flowed_join(text: str, without_space: bool) -> str:
    """The lines of a format=flowed text (RFC 3676) as they were before its sender broke them. A
    line that ends with a space goes on in the next one that is quoted as often. without_space: that
    space was added by the sender (DelSp=yes)."""
    lines: list[tuple[int, str]] = []
    flows = False  # the last line goes on
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip(">"))
        bare = line[depth:].removeprefix(" ")  # the space was stuffed in
        if flows and lines[-1][0] == depth and bare != SIGNATURE:
            lines[-1] = depth, lines[-1][1] + bare
        else:
            lines.append((depth, bare))
        flows = bare.endswith(" ") and bare != SIGNATURE
        if flows and without_space:
            lines[-1] = depth, lines[-1][1].removesuffix(" ")
    return "\n".join(">" * depth + " " * bool(depth) + bare for depth, bare in lines)


def decoded_text(part: EmailMessage) -> str:
    """The text of one part, decoded; what its character set cannot say is replaced."""
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
    """Every text of a mail, one after the other; what is no mail is read as UTF-8."""
    mail = BytesParser(policy=policy.default).parsebytes(data)
    if not any(header in mail for header in ("Content-Type", "Content-Transfer-Encoding")):
        return data.decode("utf-8", "replace")
    return "\n".join(decoded_text(part) for part in mail.walk()
                     if part.get_content_maintype() == "text")


def line_bare(line: str) -> tuple[int, str]:
    """How often a line is quoted, and what it says without quotes, indentation and marks."""
    line = line.translate(FOLDED)
    bare = QUOTED.sub("", line)
    depth, bare = line[:len(line) - len(bare)].count(">"), bare.rstrip()
    if bare.startswith("**") and bare.endswith("**"):
        return depth, bare[2:-2]
    item = ITEM.match(bare)
    return depth, bare[item.end():] if item else bare


def lines_join(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Bare lines; a backslash or a broken interval goes on in the next that is quoted as often."""
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
    readers: list[BlockReader] = []
    for depth, line in lines_join(text.splitlines()):
        head, last = HEAD.fullmatch(line), readers[-1] if readers else None
        if head and (last is None or last.ended or depth == last.depth):
            readers.append(BlockReader(depth))
            readers[-1].head_take(head[1], head[2])
        elif last and not last.ended and depth == last.depth:
            last.line_take(line)
    blocks = [reader.block for reader in readers]
    return [block for block in blocks if block.metrics and len(block.texts) > 1]


def deviations_find(posted: Posted, lines: Sequence[str]) -> list[str]:
    """What the block would say otherwise if it were printed now, one text each, in posted order."""
    said, again = posted.said, blocks_read("\n".join(lines))[0].said
    return [f"{', '.join(name)}: posted {said.get(name, NO_TEXT)}, recomputed "
            f"{again.get(name, NO_TEXT)}"
            for name in dict.fromkeys([*said, *again]) if said.get(name) != again.get(name)]


def side_words(text: str) -> Mapping[str, str]:
    """The words of a head: `write=cork`, or `NAME; write=cork`; none where it is only a name."""
    words = text.rpartition("; ")[2]
    if not WORDS_LINE.fullmatch(words):
        return {}
    return dict(word.split("=", 1) for word in words.split())
