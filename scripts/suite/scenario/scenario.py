# SPDX-License-Identifier: MIT
"""Scenario files: what to measure and what is claimed about it. TOML, data, never code.

The readers check keys and types only: what a word means the plan asks `uncork-client`. A message
names the file, the wrong key, and the nearest key that would be right.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from suite.base.errors import UsageError, error_in
from suite.scenario import toml

# The kinds of pictures, each a module of present/pictures; and the key that says what one shows.
PICTURES = {
    "bars": "metric",
    "curve": "metric",
    "heatmap": "metric",
    "forest": "metric",
    "order": "metric",
    "counts": None,
    "percentiles": "of",
    "ecdf": "of",
}
HISTOGRAMS = ("latency", "service", "late_start", "handshake", "handover")  # of a driver's thread
SIZES = ("column", "page")  # of a picture in print
SIZE = r"(\d+(?:\.\d+)?)x(\d+(?:\.\d+)?)(in|mm|px)?"
WORD_TABLES = ("fixed", "sweep", "run")
CLAIM_KINDS = ("count", "direction", "ratio", "stall")
READ = ("first hand", "second hand")
IN_KIND = "in kind"
LABEL = "A"
LABEL_REPEAT = "A'"  # the second run of a baseline cell in a round: the A/A pair
KEY_PATTERN = re.compile(r"[a-z][a-z0-9_.-]*")
# The list in `words` and in `from` of a [[published]] with several figures: values, rows of a file.
LISTS = {"words": re.compile(r"[^\s=]+,[^\s=]+"), "source": re.compile(r"[^:/]+,[^:/]+")}


def numbers_read(value: Any, key: str) -> list[float] | float:
    """A finite number above zero, or a list of them: every metric that can be published is one."""
    numbers: list[Any] = value if isinstance(value, list) and value else [value]
    for number in numbers:
        if type(number) not in (int, float) or not 0 < number <= sys.float_info.max:
            raise UsageError(f"{key} must be a number above 0, not {number}")
    return [float(number) for number in numbers] if isinstance(value, list) else float(value)


def word_value(value: Any, place: str) -> str:
    """The value of a word as in the shell. Blanks are allowed only between words of a baseline."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str) and value.strip() and ("=" in value or not re.search(r"\s", value)):
        return " ".join(value.split())
    raise UsageError(f'{place} must be one value, as on the command line: "64", "1s", "on"; '
                     "several belong under [sweep]")


def words_flatten(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Pairs (word, value). In TOML `client.cpu = 1` is a table, here the word `client.cpu`."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from words_flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def table_words_read(value: Any, key: str) -> dict[str, str]:
    return {word: word_value(text, f"[{key}] {word}")
            for word, text in words_flatten(toml.table_read(value, key))}


def sweep_read(value: Any, key: str) -> dict[str, tuple[str, ...]]:
    """The words of `[sweep]`, each with a list of values or a range."""
    sweep = {}
    for word, texts in words_flatten(toml.table_read(value, key)):
        if texts == []:
            raise UsageError(f"[{key}] {word} has no values")
        sweep[word] = tuple(word_value(item, f"[{key}] {word}")
                            for item in (texts if isinstance(texts, list) else [texts]))
    return sweep


SHOWN = ("yes", "no")
size_read = partial(toml.pattern_read, f"{'|'.join(SIZES)}|{SIZE}",
                    "column, page or WIDTHxHEIGHT, as in 5x3in, 120x80mm, 1280x720px")
name_read = partial(toml.pattern_read, "[A-Za-z0-9][A-Za-z0-9_.-]*",
                    'letters, digits, "_", "-", "."')
# The fields of texts that may be missing, of lists of texts, and of parts of a picture that are
# shown or not.
or_none = partial(toml.required, default=None)
listed = partial(toml.key, toml.strings_read, "list of texts", default=())
shown = partial(toml.choice, SHOWN, default=None)


@dataclass(frozen=True)
class Origin:
    """Where claims were published, and what was measured there."""

    title: str = toml.required("title under which it was published")
    who: str = toml.required("who published it")
    reference: str = toml.required(
        "where it can be read: a project with a commit, an issue, a page")
    read: str = toml.choice(READ, "whether that text was read, or a text that cites it")
    date: str = toml.optional("when it was published")
    machine: str = toml.optional("machine on which it was measured")
    kernel: str = toml.optional("kernel of that machine")
    conditions: str = toml.optional("what was measured, and how")
    fidelity: str = toml.choice(
        (IN_KIND,), f"{IN_KIND} if a whole program was measured there; only its socket work runs "
        "here", default="")
    differs: str = toml.optional("what the replay does differently")
    needs: str = toml.optional(
        "what the replay needs and an idle machine lacks, such as other load on the CPU")


@dataclass(frozen=True)
class Arm:
    """Words that belong together, under a name that is a value of the word arm."""

    name: str = toml.required("value of the word arm that stands for the words of this table")
    words: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Published:
    """A figure that others measured."""

    words: str = toml.required(
        "words of the cell that was measured; for a list of figures one word has a list as long")
    metric: str = toml.required("metric of the figure")
    value: float = toml.key(
        numbers_read, "number above 0, or a list of them",
        "the figure in the base unit of the metric: s, 1/s, bit/s, B or 1")
    source: str = toml.required("where the figure is, as FILE:PLACE; for a list of figures PLACE "
                                "ends with a list as long", "from")
    set: str = toml.optional("name of a series, if several series have the same cells")
    label: str = toml.choice((LABEL, LABEL_REPEAT),
                             f"{LABEL_REPEAT} for the repeated run of the baseline", default=LABEL)
    unit: str = toml.optional("unit in which it was printed")
    about: str = toml.optional("why the figure is approximate: rounded, or given in words")


@dataclass(frozen=True)
class Claim:
    """A sentence and the comparison that decides it."""

    says: str = toml.required("the claim as a sentence")
    that: str = toml.required("the comparison that decides it, see EXPRESSIONS")
    kind: str = toml.choice(CLAIM_KINDS, "what was published: a count, the direction of a change, "
                            "a ratio, or a stall", default="")
    because: str = toml.optional("why another verdict was seen, as a sentence")
    evidence: str = toml.optional("the comparison that shows it, in the same result")

    @property
    def explanation(self) -> "Claim | None":
        """What explains another verdict, as a claim that can be decided."""
        return Claim(self.because, self.evidence, self.kind) if self.evidence else None


@dataclass(frozen=True)
class Question:
    """A question; the answer is the best value of a word by a metric, in each group of cells."""

    asks: str = toml.required("the question as a sentence")
    word: str = toml.required("the word whose best value is the answer")
    metric: str = toml.required("the metric that decides which value is best")
    where: str = toml.optional("words of the cells that the question is about; empty: all cells")


@dataclass(frozen=True)
class TableLayout:
    """Which words become rows, and which metrics columns; where empty, the table chooses."""

    rows: tuple[str, ...] = listed("words whose values make the rows; empty: all words that vary")
    columns: tuple[str, ...] = listed(
        "metrics in this order; empty: those that suit the workload")
    gain: str | None = or_none("metric that is shown before and after, with its gain")
    best: str | None = or_none(
        "word whose best value by the first metric is marked; not with gain")

    def __post_init__(self) -> None:
        if self.gain and self.best:
            raise UsageError("a table has gain or best, not both")


@dataclass(frozen=True)
class Picture:
    """One picture; where a field is None, the plotter chooses."""

    kind: str = toml.choice(PICTURES, "kind of the picture")
    metric: str | None = or_none("metric that it shows; not for " + ", ".join(
        kind for kind, key in PICTURES.items() if key != "metric"))
    of: str | None = toml.choice(HISTOGRAMS, "histogram that it shows; only for " + ", ".join(
        kind for kind, key in PICTURES.items() if key == "of"), default=None)
    x: str | None = or_none("word along which bars and curves run, columns of a heat map, lines of "
                            "other kinds")
    name: str | None = or_none(
        "name of the files of the picture; none: metric or histogram, and kind")
    size: str | None = toml.key(
        size_read, "column, page or WIDTHxHEIGHT with in, mm or px",
        "size in print, column (3.3 in), page (6.9 in) or any other; none: a screen", default=None)
    title: str | None = shown("whether the title is shown; none: yes")
    points: str | None = shown(
        "whether each round is shown, as a dot or in a band; none: where there is room")
    note: str | None = shown(
        "whether the small print about rounds and machines is shown; none: yes")

    def __post_init__(self) -> None:
        right = PICTURES[self.kind]
        for key in ("metric", "of"):
            if getattr(self, key) is not None and key != right:
                raise UsageError(f'{key}: "{self.kind}" takes {right or "neither metric nor of"}')


# words for the appearance of a picture: its size in print, and parts that can be left out
LOOKS: dict[str, toml.KeyReader] = {key: toml.keys_of(Picture)[key].metadata["reader"]
                                    for key in ("size", "title", "note", "points")}


def arms_read(value: Any, key: str) -> tuple[Arm, ...]:
    """The arms, each `[[arm]]` with a name of its own and one or more words."""
    arms = dict[str, Arm]()
    for entry in toml.tables_read(value, key):
        with error_in(f"[{key}] "):
            name = name_read(entry.pop("name", ""), "name")
            if not name or name in arms:
                raise UsageError(f'name "{name}" is there twice' if name else "name is missing")
        words = table_words_read(entry, key)
        if not words:
            raise UsageError(f'[{key}] "{name}" has no words')
        arms[name] = Arm(name, words)
    return tuple(arms.values())


def figures_read(entry: dict[str, Any]) -> list[Published]:
    """The figures of an entry. A list in `value` needs one as long in `words` and `from`."""
    values = entry["value"]
    if not isinstance(values, list):
        return [Published(**entry)]
    lists = {name: pattern.findall(entry[name]) for name, pattern in LISTS.items()}
    for name, found in lists.items():
        if [text.count(",") + 1 for text in found] != [len(values)]:
            raise UsageError(f"{'words' if name == 'words' else 'from'} "
                             f'"{entry[name]}" has no list of {len(values)}, as value has')
    return [Published(**entry | {"value": number} | {
        name: entry[name].replace(found[0], found[0].split(",")[place])
        for name, found in lists.items()}) for place, number in enumerate(values)]


def published_read(value: Any, key: str) -> tuple[Published, ...]:
    figures = list[Published]()
    for table in toml.tables_read(value, key):
        with error_in(f"[{key}] "):
            figures += figures_read(toml.entry_read(table, Published))
    return tuple(figures)


@dataclass(frozen=True)
class Scenario:
    """A scenario as written; values of words are text exactly as in the shell."""

    name: str = toml.key(name_read, "letters, digits, _, - and .",
                         "name of the scenario, and of its results")
    question: str = toml.optional("the question that the scenario answers, one sentence")
    source: str = toml.optional("where the question, or the published figures, come from")
    exclude: tuple[str, ...] = listed(
        "texts of words; cells with all words of a text are left out")
    disputes: tuple[str, ...] = listed(
        "claims that say the contrary, by the names of their files")
    origin: Origin | None = toml.key(partial(toml.part_read, Origin), default=None)
    fixed: dict[str, str] = toml.key(table_words_read, default_factory=dict)
    sweep: dict[str, tuple[str, ...]] = toml.key(sweep_read, default_factory=dict)
    run: dict[str, str] = toml.key(table_words_read, default_factory=dict)
    arms: tuple[Arm, ...] = toml.key(arms_read, name="arm", default=())
    published: tuple[Published, ...] = toml.key(published_read, default=())
    claims: tuple[Claim, ...] = toml.key(partial(toml.parts_read, Claim), name="claim", default=())
    answers: tuple[Question, ...] = toml.key(
        partial(toml.parts_read, Question), name="answer", default=())
    table: TableLayout = toml.key(partial(toml.part_read, TableLayout), default=TableLayout())
    pictures: tuple[Picture, ...] = toml.key(
        partial(toml.parts_read, Picture), name="picture", default=())


TOP = ""  # the keys in front of the first table
PARTS = {  # the dataclass of each part that has keys
    TOP: Scenario, "origin": Origin, "arm": Arm, "published": Published, "claim": Claim,
    "answer": Question, "table": TableLayout, "picture": Picture,
}


class Key(NamedTuple):
    """A key of a part of a scenario. default: None where the key is required."""

    name: str
    type: str
    default: str | None
    means: str


def part_keys(part: str) -> list[Key]:
    """The keys of a part, in the order of their fields; none of a part that has only words."""
    keys = toml.keys_of(PARTS[part]) if part in PARTS else {}
    defaults: dict[Any, str | None] = {"": "empty", (): "empty", None: "none",
                MISSING: "the name of the file without .toml" if part == TOP else None}
    return [Key(name, one.metadata["type"], defaults.get(one.default, str(one.default)), means)
            for name, one in keys.items() if (means := one.metadata["means"])]


def words_check(scenario: Scenario) -> None:
    """UsageError if a word is in two tables, or does not look like a word."""
    seen: dict[str, str] = {}
    for table in WORD_TABLES:
        for word in getattr(scenario, table):
            if not KEY_PATTERN.fullmatch(word):
                raise UsageError(f"[{table}] {word}: not a word")
            if word in seen:
                raise UsageError(f"[{table}] {word}: given twice: [{seen[word]}] has it already")
            seen[word] = table


def scenario_load(path: Path) -> Scenario:
    """Reads one scenario file. A scenario without a name has that of its file."""
    document = toml.document_read(path, "scenario", "uncork list")
    if document.get("name", "") == "":
        document["name"] = path.stem
    with error_in(f"{path}: "):
        scenario = Scenario(**toml.entry_read(document, Scenario))
        words_check(scenario)
    return scenario


def scenario_text(scenario: Scenario) -> str:
    """The scenario as TOML: scenario_load gives the same scenario again."""
    tops = [key.name for key in part_keys(TOP)]  # they are the first keys of Scenario
    lines = list[str]()
    for key, value in toml.key_values(scenario).items():
        if key in tops:
            lines += toml.table_lines({key: value})
            continue
        header = f"[[{key}]]" if isinstance(value, tuple) else f"[{key}]"
        for part in filter(None, value if isinstance(value, tuple) else (value,)):
            entries = part if isinstance(part, dict) else toml.key_values(part)
            words = part.words if isinstance(part, Arm) else {}
            lines += ["", header, *toml.table_lines(entries | words)]
    return "\n".join(lines) + "\n"
