# SPDX-License-Identifier: MIT
"""What the good runs of a cell did otherwise than their words say, and what they could not count.

Both become footnotes of tables and notes of `show`. Pure: from records to sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from suite import stats
from suite.formulas import capture_difference, copied_share, mapped_share
from suite.measured import ENDS, Run
from suite.units import percent_text, size_text

Record = dict[str, Any]
TLS_CHOICES = {"cipher": "cipher", "handshake": "key_exchange"}  # word: the option it ends up as


def copied_remark(records: Iterable[Record]) -> str:
    """That a strategy which lends its memory was not taken at its word; empty if it was."""
    known = [share for record in records if (share := copied_share(Run(record))) is not None]
    share = stats.median(known) if known else 0.0
    if not share:
        return ""
    local = ", as it does for a receiver on the same machine" if share == 1 else ""
    return f"the kernel copied {percent_text(share)} of what was to be sent without a copy{local}"


def mapped_remark(records: Iterable[Record]) -> str:
    """That a reading which maps pages found none that it could; empty if it found some."""
    known = [share for record in records if (share := mapped_share(Run(record))) is not None]
    if not known or any(known):
        return ""
    return "nothing of what was received could be mapped: all of it was copied"


def capture_remarks(records: Sequence[Record]) -> list[str]:
    """What captures missed, and where they and TCP_INFO contradict each other."""
    captures = [end["capture"] for record in records
                if "capture" in (end := record.get("client", {}))]
    dropped = sum(capture["dropped"] > 0 for capture in captures)
    full = sum(capture["truncated"] for capture in captures)
    apart = [difference for record in records if (difference := capture_difference(Run(record)))]
    runs = f"of {len(captures)} runs"
    return [text for count, text in (
        (dropped, f"the capture lost packets in {dropped} {runs}: it proves nothing there"),
        (full, f"there were more packets than a capture stores in {full} {runs}: "
               "its figures are absent there"),
        (len(apart), f"capture and TCP_INFO differ in {len(apart)} {runs}, "
                     f"by {max(apart, default=0):.0f} segments at most"),
    ) if count]


def protected_ends(records: Iterable[Record]) -> Iterable[tuple[str, Record, Record]]:
    """(name of an end, the end, one of its threads) wherever a security layer is not `plain`."""
    for record in records:
        for name in ENDS:
            end = record.get(name, {})
            if end.get("security", "plain") != "plain":
                yield from ((name, end, thread) for thread in end.get("threads", ()))


def choices_missed(words: Mapping[str, str], record: Record) -> set[str]:
    """What TLS used in a run where the words asked for something else."""
    missed = set()
    for name, _, thread in protected_ends([record]):
        for word, option in TLS_CHOICES.items():
            asked = words.get(f"{name}.{word}", words.get(word))
            used = thread.get("options", {}).get(option, asked)
            if asked is not None and used != asked:
                missed.add(f"{word}={asked} was asked for, {used} was used")
    return missed


def choice_remarks(words: Mapping[str, str], records: Sequence[Record]) -> list[str]:
    """The same of all runs, with their number where it was not so in all of them."""
    counts = Counter(text for record in records for text in choices_missed(words, record))
    return [text if count == len(records) else f"{text} in {count} of {len(records)} runs"
            for text, count in sorted(counts.items())]


def clamp_text(name: str, word: str, clamp: Record) -> str:
    """One buffer of one end that is not what was asked for."""
    asked, given = size_text(clamp["asked_bytes"]), size_text(clamp["given_bytes"])
    why = (f"the most that sysctl {clamp['sysctl']} allows" if "sysctl" in clamp
           else "the least that the system has")
    return f"{word}={asked}: the {name} was given {given}, {why}"


def clamp_remarks(records: Iterable[Record]) -> list[str]:
    """Every buffer that some run did not get as the words ask for, once."""
    return list(dict.fromkeys(
        clamp_text(name, word, clamp) for record in records for name in ENDS
        for thread in record.get(name, {}).get("threads", ())
        for word, clamp in thread.get("options", {}).get("clamped", {}).items()))


def remarks_of(words: Mapping[str, str], records: Sequence[Record]) -> tuple[str, ...]:
    """Everything that the words of a cell do not say about its good runs."""
    return tuple(filter(None, [
        copied_remark(records), mapped_remark(records), *capture_remarks(records),
        *choice_remarks(words, records), *clamp_remarks(records)]))


def uncounted_of(records: Iterable[Record]) -> str:
    """The security layers that told no records, as `security=ktls`; empty where all did."""
    layers = dict.fromkeys(end["security"] for _, end, thread in protected_ends(records)
                           if "records_sent" not in thread)
    return ", ".join(f"security={layer}" for layer in layers)
