# SPDX-License-Identifier: MIT
"""Whether what a posted block says is what a result says: everything that differs, by name.
Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suite.present.mail.parse import Name, Posted, blocks_read

NO_TEXT = "nothing"


@dataclass(frozen=True)
class Deviation:
    """A text that is not the same; ABSENT where one of the two has none."""

    name: Name
    posted: str
    recomputed: str


def deviations_find(posted: Posted, lines: Sequence[str]) -> list[Deviation]:
    """What is not the same in the lines of the block as it would be printed now, in the order of
    the posted."""
    printed = blocks_read("\n".join(lines))[0]
    sides = [{**{(label,): text for label, text in block.heads.items()}, **block.texts}
             for block in (posted, printed)]
    names = dict.fromkeys([*sides[0], *sides[1]])
    return [Deviation(name, *(side.get(name, NO_TEXT) for side in sides))
            for name in names if sides[0].get(name) != sides[1].get(name)]


def texts_count(posted: Posted) -> int:
    """How many texts of a block are verified."""
    return len(posted.heads) + len(posted.texts)


def deviation_text(deviation: Deviation) -> str:
    """One deviation in a line."""
    return (f"{', '.join(deviation.name)}: posted {deviation.posted}, recomputed "
            f"{deviation.recomputed}")
