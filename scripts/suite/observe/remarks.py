# SPDX-License-Identifier: MIT
"""In what the good runs of a cell differ from its words, and which figures they did not count. Both
become footnotes of tables and notes of `show`. Pure: from columns to sentences."""

from collections import Counter
from collections.abc import Mapping

from suite import stats
from suite.base.units import percent_text
from suite.observe.runs import Runs
from suite.observe.traits import Traits

TLS_WORDS = {"cipher": "cipher", "key_exchange": "handshake"}  # option: the word that sets it


def known_values(runs: Runs, metric: str) -> list[float]:
    return runs.frame[metric].dropna().tolist()


def copied_remark(runs: Runs) -> str:
    """A note with the share of zero-copy sends that the kernel copied; empty if it copied none."""
    share = stats.median(known_values(runs, "copied_share") or [0.0])
    if not share:
        return ""
    local = ", as it does for a receiver on the same machine" if share == 1 else ""
    return f"the kernel copied {percent_text(share)} of the zero-copy sends{local}"


def mapped_remark(runs: Runs) -> str:
    """A note that zero-copy reads could map no page; empty if they mapped some."""
    known = known_values(runs, "mapped_share")
    return ("" if not known or any(known)
            else "no received page could be mapped: all received bytes were copied")


def capture_remarks(runs: Runs, traits: Mapping[Traits, int]) -> list[str]:
    """Notes on packets that captures missed, and on runs where a capture contradicts TCP_INFO."""
    def count_of(name: str) -> int:
        return sum(count for one, count in traits.items() if getattr(one, name))

    differing = [value for value in known_values(runs, "capture_difference") if value]
    runs_text = f"of {count_of('captured')} runs"
    return [text for count, text in (
        (count_of("dropped"),
         f"the capture lost packets in {count_of('dropped')} {runs_text}: "
         "these runs have no figures of the capture"),
        (count_of("truncated"),
         f"there were more packets than a capture stores in {count_of('truncated')} {runs_text}: "
         "these runs have no figures of the capture"),
        (len(differing), f"capture and TCP_INFO differ in {len(differing)} {runs_text}, "
                         f"by {max(differing, default=0):.0f} segments at most"),
    ) if count]


def choices_missed(words: Mapping[str, str], traits: Traits) -> set[str]:
    """Sentences about the TLS options of a run that differ from its words."""
    missed = set()
    for end, option, used in traits.agreed:
        word = TLS_WORDS.get(option)
        asked = words.get(f"{end}.{word}", words.get(word, used)) if word else used
        if asked != used != "certificate":  # a subject uses one if it does not know the key
            missed.add(f"{word}={asked} was asked for, {used} was used")
    return missed


def choice_remarks(words: Mapping[str, str], traits: Mapping[Traits, int]) -> list[str]:
    """The same for all runs; with the number of runs, unless it is all of them."""
    counts: Counter[str] = Counter()
    for one, count in traits.items():
        counts.update(dict.fromkeys(choices_missed(words, one), count))
    runs = sum(traits.values())
    return [text if count == runs else f"{text} in {count} of {runs} runs"
            for text, count in sorted(counts.items())]


def strangers_remark(traits: Mapping[Traits, int]) -> str:
    """A note that other connections than those of the run cost the machine time meanwhile."""
    count = sum(count for one, count in traits.items() if one.strangers)
    return (f"unexpected connections reached a data port in {count} of {sum(traits.values())} runs"
            if count else "")


def remarks_of(words: Mapping[str, str], runs: Runs) -> tuple[str, ...]:
    """All notes on the good runs of a cell."""
    traits = runs.traits_counts()
    clamped = dict.fromkeys(text for one in traits for text in one.clamped)
    return tuple(filter(None, [
        copied_remark(runs), mapped_remark(runs), *capture_remarks(runs, traits),
        strangers_remark(traits), *choice_remarks(words, traits), *clamped]))


def uncounted_of(runs: Runs) -> str:
    """The security layers that counted no records, as `security=ktls`; empty if all did."""
    layers = dict.fromkeys(layer for traits in runs.traits_counts() for layer in traits.uncounted)
    return ", ".join(f"security={layer}" for layer in layers)
