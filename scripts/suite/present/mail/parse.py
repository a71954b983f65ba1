# SPDX-License-Identifier: MIT
"""Reads posted blocks: quoted, indented, inside a longer mail, in either style. Pure. Two blocks
are the same if they have the same words in the same order: quoting and wrapping change nothing."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from functools import cached_property

from suite.observe.metrics import METRICS
from suite.present.comparison.wording import MEAN_EVERY, metric_title
from suite.present.mail.command import RUN_COMMAND

QUOTED = re.compile(r"^\s*(?:>\s?)*\s*")
FOLDED = str.maketrans({"\u00b1": "+/-", "\u00b5": "u", "\u03bc": "u", "\u2192": "->",
                        "\u00a0": " ", "\r": ""})
HEAD = re.compile(r"(?:- )?(?:base|cells): +\S")  # with which a block begins
LABEL = re.compile(r"(?:^| )(?:- )?(base|cells|new|axis|with): +")  # of the lines above the tables
TITLES = {metric_title(metric, "").partition(" (")[0]: name for name, metric in METRICS.items()}
TITLE = re.compile(rf"(?<!\S)(?:\*\*)?({'|'.join(TITLES)})(?:, \S+)? "
                   r"\((?:lower|higher) is better\)")
WORD = re.compile(r"[a-z][a-z0-9_.-]*=\S+")
LAYOUT = re.compile(r"\||[-:|]{2,}")  # the rule below the heads, which may be wrapped, and pipes
FENCE = "```"
NO_TEXT = "nothing"  # in place of words that one of the two blocks lacks


@dataclass(frozen=True)
class PostedBlock:
    """A posted block. lines: bare, without the replies between them."""

    lines: Sequence[str]

    @property
    def text(self) -> str:
        """The whole block in one line: a mail program may have broken titles and heads."""
        return " ".join(self.lines)

    @cached_property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys(TITLES[title[1]] for title in TITLE.finditer(self.text)))

    @cached_property
    def heads(self) -> Mapping[str, str]:
        """The texts above the first table, by label."""
        _, *parts = LABEL.split(TITLE.split(self.text)[0].rstrip())
        return dict(zip(parts[::2], parts[1::2], strict=True))

    @property
    def is_markdown(self) -> bool:
        return any(line.startswith("|") for line in self.lines)

    @property
    def geomean_all(self) -> bool:
        """Whether its geometric means are those of geomean=all."""
        return MEAN_EVERY in self.text

    @cached_property
    def words_placed(self) -> list[tuple[str, str]]:
        """Every word, and the line in which it stands."""
        return [(word, line) for line in self.lines if not line.startswith(FENCE)
                for word in line.split() if not LAYOUT.fullmatch(word)]

    @cached_property
    def words(self) -> list[str]:
        return [word for word, _ in self.words_placed]


def decoded_text(part: EmailMessage) -> str:
    """The text of one part; bytes that its character set does not have are replaced."""
    try:
        return str(part.get_content())
    except LookupError:  # an unknown character set
        payload = part.get_payload(decode=True)
        return payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""


def mail_text(data: bytes) -> str:
    """All texts of a mail, one after the other. Data without mail headers are read as UTF-8."""
    mail = BytesParser(policy=policy.default).parsebytes(data)
    if not any(header in mail for header in ("Content-Type", "Content-Transfer-Encoding")):
        return data.decode("utf-8", "replace")
    return "\n".join(decoded_text(part) for part in mail.walk()
                     if part.get_content_maintype() == "text")


def lines_bare(text: str) -> list[tuple[int, str]]:
    """The lines with their quoting depth, without quotes and indentation. A backslash joins a line
    with the next one of its depth."""
    lines: list[tuple[int, str]] = []
    last: dict[int, int] = {}  # by depth, the index in lines of its last line
    for line in text.translate(FOLDED).splitlines():
        bare = QUOTED.sub("", line)
        depth = line[:len(line) - len(bare)].count(">")
        bare = re.sub(rf"^scripts/{RUN_COMMAND}", RUN_COMMAND, bare.rstrip())  # of a checkout
        before = lines[last[depth]][1] if depth in last else ""
        if before.endswith("\\"):
            lines[last[depth]] = depth, before[:-1] + bare
        else:
            last[depth] = len(lines)
            lines.append((depth, bare))
    return lines


def block_cut(lines: Sequence[str]) -> PostedBlock:
    """The block that begins with the first line. It ends where its commands end, or where the next
    block begins."""
    ran = False
    for place, line in enumerate(lines):
        if (place and HEAD.match(line)) or (ran and (not line or line.startswith(FENCE))):
            return PostedBlock(lines[:place])
        ran = ran or line.startswith(RUN_COMMAND)
    return PostedBlock(lines)


def blocks_read(text: str) -> list[PostedBlock]:
    lines = lines_bare(text)
    blocks = [block_cut([bare for other, bare in lines[start:] if other == depth])
              for start, (depth, line) in enumerate(lines) if HEAD.match(line)]
    return [block for block in blocks if block.metrics]


def deviations_find(posted: PostedBlock, lines: Sequence[str]) -> list[str]:
    """The words that differ, with the line around them. lines: those of the recomputed block."""
    again, texts = blocks_read("\n".join(lines))[0], []
    matcher = SequenceMatcher(None, posted.words, again.words, autojunk=False)
    for kind, old, old_end, new, new_end in matcher.get_opcodes():
        if kind != "equal":
            told = " ".join(posted.words[old:old_end]) or NO_TEXT
            here = " ".join(again.words[new:new_end]) or NO_TEXT
            line = posted.words_placed[old][1] if new == new_end else again.words_placed[new][1]
            texts.append(f"posted {told}, recomputed {here}: {line}")
    return texts


def side_words(text: str) -> Mapping[str, str]:
    """The words of a head, `write=cork` or `NAME; write=cork`; none for a mere name."""
    return dict(word.split("=", 1) for word in text.rpartition("; ")[2].split()
                if WORD.fullmatch(word))
