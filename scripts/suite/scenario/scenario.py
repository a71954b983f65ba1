# SPDX-License-Identifier: MIT
"""Scenario files: what to measure and what is claimed about it. TOML, data, never code.

This reader knows the shape of a scenario and nothing of the words in it: `uncork-client` is the
only place that knows those, and `plan` asks it. Unknown keys and wrong types are refused, naming
the file, the key and the nearest key that would be right.
"""

import functools
import json
import math
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.base.errors import UsageError, nearest_hint
from suite.stats.histogram import histogram_find

# The kinds of picture, each a module of present/pictures, by the key that chooses what it shows.
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
# How pictures look: size, and what may be left out.
SIZES = ("column", "page")
SIZE_PATTERN = re.compile(r"(\d+(?:\.\d+)?)x(\d+(?:\.\d+)?)(in|mm|px)?")
LOOKS = ("size", "title", "note", "points")
WORD_TABLES = ("fixed", "sweep", "run")
CLAIM_KINDS = ("count", "direction", "ratio", "stall")
READ = ("first hand", "second hand")
IN_KIND = "in kind"
LABEL = "A"
LABEL_REPEAT = "A'"  # the second run of a baseline cell in a round: the A/A pair
KEY_PATTERN = re.compile(r"[a-z][a-z0-9_.-]*")
NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
# of an entry with several figures: values of a word, and rows of a file
LISTS = {"words": re.compile(r"[^\s=]+,[^\s=]+"), "source": re.compile(r"[^:/]+,[^:/]+")}


@dataclass(frozen=True)
class Published:
    """A figure that others measured; keys.py says what each field means. source: the key `from`."""

    words: str
    metric: str
    value: float
    source: str
    set: str = ""
    label: str = LABEL
    unit: str = ""
    about: str = ""


@dataclass(frozen=True)
class Claim:
    """A sentence and the comparison that decides it. kind: of CLAIM_KINDS where it was published,
    else empty. because: a sentence that explains another verdict, and evidence its comparison."""

    says: str
    that: str
    kind: str = ""
    because: str = ""
    evidence: str = ""

    @property
    def explanation(self) -> "Claim | None":
        """What explains a verdict, as a claim that can be decided."""
        return Claim(self.because, self.evidence, self.kind) if self.evidence else None


@dataclass(frozen=True)
class Origin:
    """Where claims were published, and what was measured there. read: of READ. fidelity: IN_KIND
    where that was a whole program, and only its socket work runs here; else empty. differs: what
    the replay does otherwise. needs: what an idle machine lacks, as other load; or empty."""

    title: str
    who: str
    reference: str
    read: str
    date: str = ""
    machine: str = ""
    kernel: str = ""
    conditions: str = ""
    fidelity: str = ""
    differs: str = ""
    needs: str = ""


@dataclass(frozen=True)
class Question:
    """A question in words, and what answers it: the best value of a word by a metric in each group
    of cells."""

    asks: str
    word: str
    metric: str
    where: str = ""


@dataclass(frozen=True)
class TableLayout:
    """Which axes become rows and which metrics columns; empty means the table's own choice."""

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    gain: str | None = None
    best: str | None = None


@dataclass(frozen=True)
class Arm:
    """Words that belong together, under a name that is a value of the word arm."""

    name: str
    words: dict[str, str]


@dataclass(frozen=True)
class Picture:
    """One picture; what is None is the plotter's own choice. title, note, points: yes or no."""

    kind: str
    metric: str | None
    of: str | None
    x: str | None
    name: str | None
    size: str | None = None
    title: str | None = None
    note: str | None = None
    points: str | None = None


@dataclass(frozen=True)
class Scenario:
    """A scenario as written; values of words are text exactly as in the shell."""

    name: str
    question: str = ""
    source: str = ""
    fixed: dict[str, str] = field(default_factory=dict)
    sweep: dict[str, tuple[str, ...]] = field(default_factory=dict)
    run: dict[str, str] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    arms: tuple[Arm, ...] = ()
    published: tuple[Published, ...] = ()
    claims: tuple[Claim, ...] = ()
    answers: tuple[Question, ...] = ()
    table: TableLayout | None = None
    pictures: tuple[Picture, ...] = ()
    origin: Origin | None = None
    disputes: tuple[str, ...] = ()


# Reads the value of a key of a table. `where` begins messages: "FILE: " or "FILE: [table] ".
KeyReader = Callable[[dict[str, Any], str, str], Any]


def string_read(table: dict[str, Any], key: str, where: str, required: bool = False) -> str:
    """A string on one line; absent is the empty string unless required."""
    if key not in table and not required:
        return ""
    value = table.get(key)
    if not isinstance(value, str) or (required and not value.strip()):
        wrong = "is missing" if value is None else "must be text"
        raise UsageError(f"{where}{key} {wrong}")
    return " ".join(value.split())


string_require = functools.partial(string_read, required=True)


def string_or_none(table: dict[str, Any], key: str, where: str) -> str | None:
    """A string on one line; None where it is absent or empty."""
    return string_read(table, key, where) or None


def strings_read(table: dict[str, Any], key: str, where: str) -> tuple[str, ...]:
    """A list of strings, none twice; absent is empty."""
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise UsageError(f'{where}{key} must be a list of text, as in {key} = ["...", "..."]')
    twice = next((item for item in value if value.count(item) > 1), None)
    if twice is not None:
        raise UsageError(f'{where}{key} names "{twice}" twice')
    return tuple(value)


def number_read(table: dict[str, Any], key: str, where: str) -> float:
    """A finite number above zero: every metric that can be published is one."""
    value = table.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        wrong = "is missing" if value is None else "must be a number"
        raise UsageError(f"{where}{key} {wrong}")
    if not math.isfinite(value) or value <= 0:
        raise UsageError(
            f"{where}{key} = {value} is impossible: it must be finite and above 0")
    return float(value)


def numbers_read(table: dict[str, Any], key: str, where: str) -> list[float] | float:
    """One such number, or a list of them."""
    value = table.get(key)
    return [number_read({key: one}, key, where) for one in value] if isinstance(value, list) and (
        value) else number_read(table, key, where)


def table_read(table: dict[str, Any], key: str, where: str) -> dict[str, Any]:
    """A table, `[key]`; absent is empty."""
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise UsageError(f"{where}{key} must be a table, [{key}]")
    return value


def entry_read(entry: dict[str, Any], readers: dict[str, KeyReader], where: str) -> dict[str, Any]:
    """By field, the value of every key that has a reader, in their order; refuses other keys."""
    for key in entry:
        if key not in readers:
            raise UsageError(f"{where}{key}: unknown key{nearest_hint(key, readers)}")
    return {FIELDS.get(key, key): read(entry, key, where) for key, read in readers.items()}


def entries_reader(kind: Callable[..., Any], readers: dict[str, KeyReader]) -> KeyReader:
    """Reads a list of tables, `[[key]]`, as a tuple of this kind; absent is empty."""

    def entries_read(table: dict[str, Any], key: str, where: str) -> tuple[Any, ...]:
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise UsageError(f"{where}{key} must be a list of tables, [[{key}]]")
        return tuple(kind(**entry_read(entry, readers, f"{where}[{key}] ")) for entry in value)

    return entries_read


def published_read(table: dict[str, Any], key: str, where: str) -> tuple[Published, ...]:
    """The figures of each `[[published]]`: of a list of them, each has its part of the lists that
    `words` and `from` have, in order. UsageError where these are not as long."""
    figures = []
    for entry in entries_reader(dict, PART_KEYS[key])(table, key, where):
        values = entry["value"]
        parts = [entry]
        if isinstance(values, list):
            lists = {name: pattern.findall(entry[name]) for name, pattern in LISTS.items()}
            for name, found in lists.items():
                if [text.count(",") + 1 for text in found] != [len(values)]:
                    raise UsageError(f"{where}[{key}] {'words' if name == 'words' else 'from'} "
                                     f'"{entry[name]}" has no list of {len(values)}, as value has')
            parts = [entry | {"value": value} | {
                name: entry[name].replace(found[0], found[0].split(",")[place])
                for name, found in lists.items()} for place, value in enumerate(values)]
        figures += [Published(**part) for part in parts]
    return tuple(figures)


def word_value(value: Any, where: str) -> str:
    """The value of a word as it would stand in the shell; only a baseline has several words."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str) and value.strip() and ("=" in value or not re.search(r"\s", value)):
        return " ".join(value.split())
    raise UsageError(f'{where} must be one value, as in the shell: "64", "1s", "on"')


def words_flatten(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(word, value): `client.cpu = 1` is a table in TOML; here it is the word `client.cpu`."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from words_flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def table_words_read(table: dict[str, Any], key: str, where: str) -> dict[str, str]:
    words = {}
    for word, value in words_flatten(table_read(table, key, where)):
        if isinstance(value, list):
            raise UsageError(
                f"{where}[{key}] {word} has several values: it belongs under [sweep]")
        words[word] = word_value(value, f"{where}[{key}] {word}")
    return words


def sweep_read(table: dict[str, Any], key: str, where: str) -> dict[str, tuple[str, ...]]:
    """The words of `[sweep]` in order: a list of values, or a range as in the shell."""
    sweep = {}
    for word, value in words_flatten(table_read(table, key, where)):
        if value == []:
            raise UsageError(f"{where}[{key}] {word} has no values")
        sweep[word] = tuple(word_value(item, f"{where}[{key}] {word}")
                            for item in (value if isinstance(value, list) else [value]))
    return sweep


def arms_read(table: dict[str, Any], key: str, where: str) -> tuple[Arm, ...]:
    """The arms, each `[[arm]]` with a name of its own and one or more words; absent is empty."""
    value, arms = table.get(key, []), dict[str, Arm]()
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise UsageError(f"{where}{key} must be a list of tables, [[{key}]]")
    for entry in value:
        name = string_require(entry, "name", f"{where}[{key}] ")
        place = f'{where}[{key}] "{name}": '
        if not NAME_PATTERN.fullmatch(name) or name in arms:
            wrong = "is there twice" if name in arms else 'must be letters, digits, "_", "-", "."'
            raise UsageError(f"{place}the name {wrong}")
        words = table_words_read({key: {word: text for word, text in entry.items()
                                        if word != "name"}}, key, where)
        if not words:
            raise UsageError(f"{place}it has no words")
        arms[name] = Arm(name, words)
    return tuple(arms.values())


def choice_reader(choices: tuple[str, ...], required: bool = False, absent: str = "") -> KeyReader:
    """Reads one of a few texts, which is the text absent where there is none, unless required."""

    def choice_read(table: dict[str, Any], key: str, where: str) -> str:
        value = string_read(table, key, where, required) or absent
        if value not in ("", *choices):
            raise UsageError(f'{where}{key} must be {" or ".join(choices)}, not "{value}"')
        return value

    return choice_read


claim_kind_read, fidelity_read = choice_reader(CLAIM_KINDS), choice_reader((IN_KIND,))
hand_read = choice_reader(READ, True)
label_read = choice_reader((LABEL, LABEL_REPEAT), absent=LABEL)


def origin_read(table: dict[str, Any], key: str, where: str) -> Origin | None:
    """`[origin]`, or None."""
    return Origin(**entry_read(table_read(table, key, where), PART_KEYS[key],
                               f"{where}[{key}] ")) if key in table else None


def layout_read(table: dict[str, Any], key: str, where: str) -> TableLayout | None:
    if key not in table:
        return None
    layout = TableLayout(**entry_read(table_read(table, key, where), PART_KEYS[key],
                                      f"{where}[{key}] "))
    if layout.gain and layout.best:
        raise UsageError(f"{where}[{key}] best: a table has gain or best, not both")
    return layout


def kind_read(table: dict[str, Any], key: str, where: str) -> str:
    """A kind of picture whose choosing key, metric or of, is the right one."""
    kind = string_require(table, key, where)
    if kind not in PICTURES:
        raise UsageError(
            f'{where}{key} = "{kind}" is no kind of picture{nearest_hint(kind, PICTURES)}')
    right = PICTURES[kind]
    strange = next((other for other in ("metric", "of") if other in table and other != right), None)
    if strange:
        instead = f'"{right}" instead' if right else f'no "{strange}"'
        raise UsageError(f'{where}{strange}: "{kind}" takes {instead}')
    return kind


def histogram_name_read(table: dict[str, Any], key: str, where: str) -> str | None:
    name = string_or_none(table, key, where)
    return histogram_find(name, f"{where}{key}") if name else None


def look_check(key: str, value: str, where: str) -> str:
    """The value of a word of LOOKS; UsageError says what would be right."""
    right = ("column, page or WIDTHxHEIGHT, as in 5x3in, 120x80mm, 1280x720px" if key == "size"
             else "yes or no")
    if not (value in SIZES or SIZE_PATTERN.fullmatch(value) if key == "size"
            else value in ("yes", "no")):
        raise UsageError(f'{where}{key} must be {right}, not "{value}"')
    return value


def size_read(table: dict[str, Any], key: str, where: str) -> str | None:
    value = string_or_none(table, key, where)
    return look_check(key, value, where) if value else None


shown_read = functools.partial(size_read)  # whether a part of a picture is shown


def name_read(table: dict[str, Any], key: str, where: str, stem: str = "") -> str:
    """The name of a scenario; absent is the stem of the file's name."""
    name = string_read(table, key, where) or stem
    if not NAME_PATTERN.fullmatch(name):
        raise UsageError(f'{where}{key} = "{name}" must be letters, digits, "_", "-", "."')
    return name


PART_KEYS: dict[str, dict[str, KeyReader]] = {  # of the parts whose keys are no words
    "published": {
        "label": label_read, "words": string_require, "metric": string_require,
        "value": numbers_read, "from": string_require, "set": string_read,
        "unit": string_read, "about": string_read,
    },
    "claim": {"says": string_require, "that": string_require, "kind": claim_kind_read,
              "because": string_read, "evidence": string_read},
    "origin": {
        "title": string_require, "who": string_require, "reference": string_require,
        "read": hand_read, "date": string_read, "machine": string_read, "kernel": string_read,
        "conditions": string_read, "fidelity": fidelity_read, "differs": string_read,
        "needs": string_read,
    },
    "answer": {
        "asks": string_require, "word": string_require, "metric": string_require,
        "where": string_read,
    },
    "table": {
        "gain": string_or_none, "best": string_or_none, "rows": strings_read,
        "columns": strings_read,
    },
    "picture": {
        "kind": kind_read, "of": histogram_name_read, "metric": string_or_none, "x": string_or_none,
        "name": string_or_none, "size": size_read, "title": shown_read, "note": shown_read,
        "points": shown_read,
    },
}
SCENARIO_KEYS: dict[str, KeyReader] = {
    "question": string_read, "source": string_read, "fixed": table_words_read, "sweep": sweep_read,
    "run": table_words_read, "exclude": strings_read, "disputes": strings_read,
    "origin": origin_read, "arm": arms_read,
    "published": published_read,
    "claim": entries_reader(Claim, PART_KEYS["claim"]),
    "answer": entries_reader(Question, PART_KEYS["answer"]),
    "table": layout_read,
    "picture": entries_reader(Picture, PART_KEYS["picture"]),
}
# keys that are not the names of their fields
FIELDS = {"from": "source", "arm": "arms", "claim": "claims", "answer": "answers",
          "picture": "pictures"}


def words_check(scenario: Scenario, path: Path) -> None:
    """A word stands in one place only, and looks like a word."""
    seen: dict[str, str] = {}
    for table in WORD_TABLES:
        for word in getattr(scenario, table):
            where = f"{path}: [{table}] {word}"
            if not KEY_PATTERN.fullmatch(word):
                raise UsageError(f"{where}: not a word")
            if word in seen:
                raise UsageError(f"{where}: given twice, it stands under [{seen[word]}] already")
            seen[word] = table


def document_read(path: Path, kind: str, command: str) -> dict[str, Any]:
    """The file of a scenario or another kind, in TOML. UsageError names the file and the line.
    command: lists those that ship."""
    text = ""
    try:
        text = path.read_bytes().decode()
        return tomllib.loads(text)
    except (FileNotFoundError, IsADirectoryError):
        what = (f"is a folder, not the file of a {kind}" if path.is_dir()
                else f"no such {kind} file")
        raise UsageError(
            f"{path}: {what} ({command} shows the names of those that ship)") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text at byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        last = f"at line {len(text.splitlines())}, the last"
        wrong = str(error).replace("at end of document", last)
        raise UsageError(f"{path}: broken TOML: {wrong}") from None


def scenario_load(path: Path) -> Scenario:
    """Reads one scenario file, whose name stands for a name that it does not give. UsageError names
    the file and the line (broken TOML) or the key (unknown, missing, wrong type)."""
    document = document_read(path, "scenario", "uncork list")
    name: KeyReader = functools.partial(name_read, stem=path.stem)
    scenario = Scenario(**entry_read(document, {"name": name, **SCENARIO_KEYS}, f"{path}: "))
    words_check(scenario, path)
    return scenario


def toml_value(value: str | float | tuple[str, ...]) -> str:
    """One TOML value. A JSON string is a TOML basic string, but for DEL, which both escape."""
    if isinstance(value, tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def toml_table(header: str, entries: dict[str, Any]) -> list[str]:
    """The lines of one table; keys with a dot are quoted, what is None or "" is left out."""
    return [*(["", header] if header else []), *(
        f"{key if re.fullmatch(r'[A-Za-z0-9_-]+', key) else json.dumps(key)} = {toml_value(value)}"
        for key, value in entries.items() if value is not None and value != "")]


def scenario_text(scenario: Scenario) -> str:
    """The scenario as TOML: scenario_load gives the same scenario again."""
    lines = toml_table("", {
        "name": scenario.name, "question": scenario.question, "source": scenario.source,
        "exclude": scenario.exclude or None, "disputes": scenario.disputes or None,
    })
    tables: list[tuple[str, dict[str, Any]]] = [
        ("[origin]", vars(scenario.origin) if scenario.origin else {}),
        *((f"[{table}]", getattr(scenario, table)) for table in WORD_TABLES),
        *(("[[arm]]", {"name": arm.name, **arm.words}) for arm in scenario.arms),
        *(("[[published]]", {
            "words": figure.words, "metric": figure.metric,
            "value": figure.value, "from": figure.source, "set": figure.set,
            "label": figure.label if figure.label != LABEL else None,
            "unit": figure.unit, "about": figure.about,
        }) for figure in scenario.published),
        *(("[[claim]]", vars(claim)) for claim in scenario.claims),
        *(("[[answer]]", vars(question)) for question in scenario.answers),
        ("[table]", vars(scenario.table) if scenario.table else {}),
        *(("[[picture]]", vars(picture)) for picture in scenario.pictures),
    ]
    for header, entries in tables:
        lines += toml_table(header, entries) if entries else []
    return "\n".join(lines) + "\n"
