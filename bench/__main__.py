# SPDX-License-Identifier: MIT
"""`bench/run [CONTEST...] [word=value...]`: runs the contests and prints their ratios; with
`--read FILE` those of a run that is in a file.

Exit status: 0 also where a budget is not reached, for it is a benchmark and no test; 1 where
nothing can be run; 2 for words that are wrong.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from bench import ours
from bench.contenders import CONTENDERS
from bench.contenders.contender import Broken
from bench.contests import CONTESTS, Contest, contests_named
from bench.loopback import congestion_probe, namespace_enter
from bench.rounds import FLOOR, Sample, Setting, entries_make, rounds_run
from bench.stored import Run, head_lines, line_keep, page_lines, run_read, table_lines
from suite.__main__ import errors_print
from suite.base import grouped
from suite.base.client import Client, build_digest, client_facts, client_list, client_open
from suite.base.errors import UsageError, nearest_hint
from suite.base.text import labelled_lines
from suite.commands import Parser
from suite.measure.schedule import seed_draw
from suite.present.heading import machine_text
from suite.result.machine import Machine
from suite.stats import ROUNDS_NEEDED

WIDTH = 100
TIME_UNITS = {"ms": 1e-3, "s": 1.0}  # the longer spelling first


@dataclass(frozen=True)
class Options:
    """What stood in the shell."""

    contests: dict[str, Contest]
    rounds: int
    seed: int
    seconds: float
    warmup: float
    keep: Path | None
    stored: Path | None
    markdown: bool


def count_parse(word: str, text: str, minimum: int) -> int:
    """A whole number of at least minimum."""
    if not text.isascii() or not text.isdigit() or not minimum <= int(text) <= 2**53:
        raise UsageError(f"{word}={text}: write a whole number from {minimum}")
    return int(text)


def seconds_parse(word: str, text: str, minimum: float) -> float:
    """1s, 0.5s or 50ms, in seconds."""
    for unit, factor in TIME_UNITS.items():
        number = text.removesuffix(unit)
        if number != text and number.replace(".", "", 1).isdigit() and number.isascii():
            seconds = float(number) * factor
            if minimum <= seconds <= 3600:
                return seconds
    raise UsageError(f"{word}={text}: write a time like 1s or 200ms, at least {minimum * 1e3:g}ms")


def options_parse(arguments: Sequence[str]) -> Options | None:
    """The options; None after --list."""
    parser = Parser(prog="bench/run", description=(
        "uncork against bare loops and other tools, interleaved in one run; words: rounds=12, "
        "duration=1s, warmup=200ms, seed=N"))
    parser.add_argument("words", nargs="*", metavar="CONTEST | WORD=VALUE",
                        help="which contests (default: all of --list; proxy: all proxy/...), "
                             "and words")
    parser.add_argument("--quick", action="store_true",
                        help=f"rounds={ROUNDS_NEEDED} duration=300ms warmup=100ms; words override")
    parser.add_argument("--json", metavar="FILE", type=Path, dest="keep",
                        help="keeps the figures of every run, one JSON object a line")
    parser.add_argument("--read", metavar="FILE", type=Path, dest="stored",
                        help="runs nothing: prints what --json kept, packed by xz or not")
    parser.add_argument("--markdown", action="store_true", help="the table as Markdown")
    parser.add_argument("--list", action="store_true",
                        help="the contests, and which tools are installed")
    given = parser.parse_intermixed_args(arguments)
    if given.list:
        return None
    if given.keep and given.stored:
        raise UsageError("--json keeps what runs, and with --read nothing runs: leave one out")
    words = {"rounds": "12", "duration": "1s", "warmup": "200ms", "seed": str(seed_draw())}
    if given.quick:
        words |= {"rounds": str(ROUNDS_NEEDED), "duration": "300ms", "warmup": "100ms"}
    words |= words_split([word for word in given.words if "=" in word], words)
    names = [word for word in given.words if "=" not in word]
    for name in names:
        if not contests_named(name):
            raise UsageError(f'no contest "{name}"{nearest_hint(name, CONTESTS)}')
    chosen = {one for name in names for one in contests_named(name)} or CONTESTS.keys()
    return Options({name: CONTESTS[name] for name in CONTESTS if name in chosen},
                   count_parse("rounds", words["rounds"], 1), count_parse("seed", words["seed"], 0),
                   seconds_parse("duration", words["duration"], 0.01),
                   seconds_parse("warmup", words["warmup"], 0.0), given.keep, given.stored,
                   given.markdown)


def words_split(given: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    """key=value; a key that is unknown or comes twice is refused."""
    words: dict[str, str] = {}
    for word in given:
        key, value = word.split("=", 1)
        if key not in known:
            raise UsageError(f'no word "{key}"{nearest_hint(key, known)}')
        if key in words:
            raise UsageError(f"{key} is given twice")
        words[key] = value
    return words


def words_answer(known: Mapping[str, str], usage: str,
                 measure: Callable[[dict[str, str]], None]) -> int:
    """The exit status of a program that takes words only."""
    def answer() -> int:
        strange = next((word for word in sys.argv[1:] if "=" not in word), None)
        if strange is not None:
            raise UsageError(f'"{strange}" is not a word: {usage}')
        measure({**known, **words_split(sys.argv[1:], known)})
        return 0

    return errors_print(answer)


def contests_list() -> None:
    print("contests")
    print("\n".join(labelled_lines([(c.name, f"{c.says} ({c.words})") for c in CONTESTS.values()],
                                   WIDTH, "  ")))
    print("contenders")
    print("\n".join(labelled_lines([(c.name, c.missing() or "there") for c in CONTENDERS.values()],
                                   WIDTH, "  ")))


def cpus_find(client: Client, contests: Mapping[str, Contest]) -> dict[str, tuple[int, int] | str]:
    """The CPUs of every place, or why there are none."""
    cpus: dict[str, tuple[int, int] | str] = {}
    for place in dict.fromkeys(place for c in contests.values() for place in c.places):
        try:
            cpus[place] = ours.cpus_ask(client, place)
        except Broken as broken:
            cpus[place] = str(broken)
    return cpus


def head_make(options: Options, setting: Setting, network: str) -> dict[str, str]:
    """What must be known before a figure is read."""
    client = setting.client
    places = [f"{place}: client on CPU {cpus[0]}, server on CPU {cpus[1]}"
              if isinstance(cpus, tuple) else f"{place}: {cpus}"
              for place, cpus in setting.cpus.items()]
    used = {one.contender for c in options.contests.values() for one in c.against}
    tools = [one.named() for name, one in CONTENDERS.items()
             if name in used - {FLOOR} and one.missing() is None]
    return {
        "machine": machine_text(Machine(("here",), client_facts(client, [])["client"])),
        "uncork": f"{client_list(client).document['revision']}, "
                  f"binaries {build_digest(client.folder)}",
        "others": ", ".join(tools) or "none",
        "network": f"{network}; TCP connects with {setting.congestion}",
        "place": "; ".join(places),
        "rounds": f"{options.rounds}, each run once in a round, in fresh random order, seed "
                  f"{options.seed}{seldom_text(options.contests)}; {options.seconds:g} s after "
                  f"{options.warmup:g} s, whole seconds where a tool counts those",
        "load": f"{load_text()} before, {time.strftime('%Y-%m-%d %H:%M')}",
    }


def seldom_text(contests: Mapping[str, Contest]) -> str:
    """Which contests do not run in every round."""
    every = grouped((one.every, name.partition("/")[0]) for name, one in contests.items())
    return "".join(f"; {', '.join(dict.fromkeys(names))}: in one of {number} rounds"
                   for number, names in every.items() if number > 1)


def load_text() -> str:
    """What else this machine does: runnable threads, averaged over 1 and 5 minutes."""
    one, five, _ = os.getloadavg()
    return f"{one:.2f} {five:.2f}"


def begins_teller(options: Options) -> Callable[[int], None]:
    """Says on standard error which round begins, and how long the rest takes."""
    began = time.monotonic()

    def begins(number: int) -> None:
        done = number - 1
        left = round((time.monotonic() - began) / max(done, 1) * (options.rounds - done))
        about = f", about {left // 60}:{left % 60:02} left" if done else ""
        print(f"uncork: round {number} of {options.rounds}{about}", file=sys.stderr)

    return begins


def bench_run(options: Options, network: str) -> None:
    client = client_open()
    for contender in CONTENDERS.values():
        contender.prepare()
    setting = Setting(client, options.seconds, options.warmup, cpus_find(client, options.contests),
                      congestion_probe())
    absent = {name: why for name, one in CONTENDERS.items() if (why := one.missing()) is not None}
    run = Run(head_make(options, setting, network), options.contests, absent)
    if not options.markdown:
        print("\n".join(head_lines(run.head)), flush=True)
    samples: list[Sample] = []
    with options.keep.open("w") if options.keep else nullcontext() as file:
        line_keep(file, run.document())
        for sample in rounds_run(setting, run.contests, entries_make([*run.contests.values()]),
                                 options.rounds, options.seed, begins_teller(options)):
            samples.append(sample)
            line_keep(file, sample.document())
        foot = {"load": f"{run.head['load']}; {load_text()} after, {time.strftime('%H:%M')}"}
        line_keep(file, foot)
    run_print(replace(run, samples=samples, foot=foot), options.markdown, head=False)


def run_print(run: Run, markdown: bool, head: bool = True) -> None:
    """A run that is complete; head: with its heading, which may stand there already."""
    if markdown:
        print("\n".join(page_lines(run)))
    else:
        pairs = run.head | run.foot if head else run.foot
        print("\n".join([*head_lines(pairs), "", *table_lines(run)]))


def bench_answer(arguments: Sequence[str]) -> int:
    """Lists the contests or runs them; the exit status."""
    options = options_parse(arguments)
    if options is None:
        contests_list()
    elif options.stored is not None:
        run_print(run_read(options.stored, options.contests), options.markdown)
    else:
        bench_run(options, namespace_enter(arguments))
    return 0


def main(arguments: Sequence[str]) -> int:
    return errors_print(lambda: bench_answer(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
