# SPDX-License-Identifier: MIT
"""Scenario files: what to measure and what is claimed about it. TOML, data, never code.

This reader knows the shape of a scenario and nothing of the words in it: `uncork-client` is the
only place that knows those, and `plan` asks it. Unknown keys and wrong types are refused, naming
the file, the key and the nearest key that would be right.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.base.errors import UsageError, nearest_hint
from suite.stats.histogram import histogram_find

# by kind the key that chooses what is drawn, None: nothing does
PICTURES = {kind: key for key, kinds in (
    ("metric", ("bars", "curve", "heatmap", "forest", "order")), (None, ("counts",)),
    ("of", ("percentiles", "ecdf")),
) for kind in kinds}
LABEL = "A"
LABEL_AGAIN = "A'"  # the second run of a baseline cell in a round: the A/A pair
KEY_PATTERN = re.compile(r"[a-z][a-z0-9_.-]*")
NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Published:
    """A figure that others measured: `value` of `metric`, base unit, for the cell `words`.

    set: which of several series of the same cells it belongs to; empty where there is one only.
    label: A' where it was to differ from the baseline's figure, and nothing was different.
    """

    words: str
    metric: str
    value: float
    source: str
    set: str = ""
    label: str = LABEL


@dataclass(frozen=True)
class Claim:
    """A sentence and the comparison that decides it."""

    says: str
    that: str


@dataclass(frozen=True)
class Table:
    """Which axes become rows and which metrics columns; empty means the table's own choice.

    gain: the metric of which pre, post and gain are shown; None: of none.
    best: the axis of which the best value is looked for by the first metric; None: of none.
    """

    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    gain: str | None = None
    best: str | None = None


@dataclass(frozen=True)
class Picture:
    """One picture; what is None is the plotter's own choice.

    metric: of all that show one. of: the histogram behind percentiles and ecdf.
    x: the axis along which bars and curves run, the columns of a heat map, the lines of the others.
    """

    kind: str
    metric: str | None
    of: str | None
    x: str | None
    name: str | None


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
    published: tuple[Published, ...] = ()
    claims: tuple[Claim, ...] = ()
    table: Table | None = None
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where in a file we are, for messages: the file and the table in it."""

    path: Path
    table: str = ""

    def at(self, key: str) -> str:
        """`FILE: [table] key`."""
        return f"{self.path}: [{self.table}] {key}" if self.table else f"{self.path}: {key}"

    def inside(self, table: str) -> Place:
        """The same file, one table down."""
        return Place(self.path, table)


def keys_check(table: dict[str, Any], allowed: tuple[str, ...], place: Place) -> None:
    """Refuses a key that is not in allowed."""
    for key in table:
        if key not in allowed:
            raise UsageError(f"{place.at(key)}: unknown key{nearest_hint(key, allowed)}")


def text_of(table: dict[str, Any], key: str, place: Place, required: bool = False) -> str:
    """A string on one line; absent is the empty string unless required."""
    if key not in table and not required:
        return ""
    value = table.get(key)
    if not isinstance(value, str) or (required and not value.strip()):
        wrong = "is missing" if value is None else "must be text"
        raise UsageError(f"{place.at(key)} {wrong}")
    return " ".join(value.split())


def texts_of(table: dict[str, Any], key: str, place: Place) -> tuple[str, ...]:
    """A list of strings, none twice; absent is empty."""
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise UsageError(f'{place.at(key)} must be a list of text, as in {key} = ["...", "..."]')
    twice = next((item for item in value if value.count(item) > 1), None)
    if twice is not None:
        raise UsageError(f'{place.at(key)} names "{twice}" twice')
    return tuple(value)


def number_of(table: dict[str, Any], key: str, place: Place) -> float:
    """A finite number above zero: every metric that can be published is one."""
    value = table.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        wrong = "is missing" if value is None else "must be a number"
        raise UsageError(f"{place.at(key)} {wrong}")
    if not math.isfinite(value) or value <= 0:
        raise UsageError(f"{place.at(key)} = {value} is impossible: it must be finite and above 0")
    return float(value)


def table_of(document: dict[str, Any], key: str, place: Place) -> dict[str, Any]:
    """A table, `[key]`; absent is empty."""
    value = document.get(key, {})
    if not isinstance(value, dict):
        raise UsageError(f"{place.at(key)} must be a table, [{key}]")
    return value


def tables_of(document: dict[str, Any], key: str, place: Place) -> list[dict[str, Any]]:
    """A list of tables, `[[key]]`; absent is empty."""
    value = document.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise UsageError(f"{place.at(key)} must be a list of tables, [[{key}]]")
    return value


def value_text(value: Any, where: str) -> str:
    """The value of a word as it would stand in the shell; only a baseline has several words."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str) and value.strip() and ("=" in value or not re.search(r"\s", value)):
        return " ".join(value.split())
    raise UsageError(f'{where} must be one value, as in the shell: "64", "1s", "on"')


def flatten_words(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """`client.cpu = 1` is a table in TOML; here it is the word `client.cpu` again."""
    words: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            words |= flatten_words(value, f"{prefix}{key}.")
        else:
            words[prefix + key] = value
    return words


def words_of(document: dict[str, Any], key: str, place: Place) -> dict[str, str]:
    """The words of `[fixed]` or `[run]`: one value each."""
    inside = place.inside(key)
    words = {}
    for word, value in flatten_words(table_of(document, key, place)).items():
        if isinstance(value, list):
            raise UsageError(f"{inside.at(word)} has several values: it belongs under [sweep]")
        words[word] = value_text(value, inside.at(word))
    return words


def sweep_of(document: dict[str, Any], place: Place) -> dict[str, tuple[str, ...]]:
    """The words of `[sweep]` in order: a list of values, or a range as in the shell."""
    inside = place.inside("sweep")
    sweep = {}
    for word, value in flatten_words(table_of(document, "sweep", place)).items():
        values = value if isinstance(value, list) else [value]
        if not values:
            raise UsageError(f"{inside.at(word)} has no values")
        sweep[word] = tuple(value_text(item, inside.at(word)) for item in values)
    return sweep


def published_of(document: dict[str, Any], place: Place) -> tuple[Published, ...]:
    """The `[[published]]` figures."""
    inside = place.inside("published")
    figures = []
    for entry in tables_of(document, "published", place):
        keys_check(entry, ("words", "metric", "value", "from", "set", "label"), inside)
        label = text_of(entry, "label", inside) or LABEL
        if label not in (LABEL, LABEL_AGAIN):
            raise UsageError(f"{inside.at('label')} must be {LABEL} or {LABEL_AGAIN}")
        figures.append(Published(
            words=text_of(entry, "words", inside, required=True),
            metric=text_of(entry, "metric", inside, required=True),
            value=number_of(entry, "value", inside),
            source=text_of(entry, "from", inside, required=True),
            set=text_of(entry, "set", inside), label=label,
        ))
    return tuple(figures)


def claims_of(document: dict[str, Any], place: Place) -> tuple[Claim, ...]:
    """The `[[claim]]` entries."""
    inside = place.inside("claim")
    claims = []
    for entry in tables_of(document, "claim", place):
        keys_check(entry, ("says", "that"), inside)
        claims.append(Claim(
            says=text_of(entry, "says", inside, required=True),
            that=text_of(entry, "that", inside, required=True),
        ))
    return tuple(claims)


def layout_of(document: dict[str, Any], place: Place) -> Table | None:
    """`[table]`, or None."""
    if "table" not in document:
        return None
    inside = place.inside("table")
    entry = table_of(document, "table", place)
    keys_check(entry, ("rows", "columns", "gain", "best"), inside)
    gain, best = (text_of(entry, key, inside) or None for key in ("gain", "best"))
    if gain and best:
        raise UsageError(f"{inside.at('best')}: a table has gain or best, not both")
    return Table(texts_of(entry, "rows", inside), texts_of(entry, "columns", inside), gain, best)


def picture_of(entry: dict[str, Any], place: Place) -> Picture:
    """One `[[picture]]` entry."""
    keys_check(entry, ("kind", "metric", "of", "x", "name"), place)
    kind = text_of(entry, "kind", place, required=True)
    if kind not in PICTURES:
        raise UsageError(
            f'{place.at("kind")} = "{kind}" is no kind of picture{nearest_hint(kind, PICTURES)}')
    right = PICTURES[kind]
    strange = next((key for key in ("metric", "of") if key in entry and key != right), None)
    if strange:
        instead = f'"{right}" instead' if right else f'no "{strange}"'
        raise UsageError(f'{place.at(strange)}: "{kind}" takes {instead}')
    of = text_of(entry, "of", place) or None
    return Picture(
        kind=kind,
        metric=text_of(entry, "metric", place) or None,
        of=histogram_find(of, place.at("of")) if of else None,
        x=text_of(entry, "x", place) or None,
        name=text_of(entry, "name", place) or None,
    )


def pictures_of(document: dict[str, Any], place: Place) -> tuple[Picture, ...]:
    """The `[[picture]]` entries."""
    inside = place.inside("picture")
    return tuple(picture_of(entry, inside) for entry in tables_of(document, "picture", place))


def words_once_check(scenario: Scenario, place: Place) -> None:
    """A word stands in one place only, and looks like a word."""
    seen: dict[str, str] = {}
    tables = {"fixed": scenario.fixed, "sweep": scenario.sweep, "run": scenario.run}
    for table, words in tables.items():
        for word in words:
            if not KEY_PATTERN.fullmatch(word):
                raise UsageError(f"{place.inside(table).at(word)}: not a word")
            if word in seen:
                where = place.inside(table).at(word)
                raise UsageError(f"{where}: given twice, it stands under [{seen[word]}] already")
            seen[word] = table


def scenario_parse(document: dict[str, Any], path: Path) -> Scenario:
    """The scenario in a TOML document; path names it in messages and gives its name."""
    place = Place(path)
    keys_check(document, (
        "name", "question", "source", "exclude", "fixed", "sweep", "run",
        "published", "claim", "table", "picture",
    ), place)
    name = text_of(document, "name", place) or path.stem
    if not NAME_PATTERN.fullmatch(name):
        raise UsageError(f'{place.at("name")} = "{name}" must be letters, digits, "_", "-", "."')
    scenario = Scenario(
        name=name,
        question=text_of(document, "question", place),
        source=text_of(document, "source", place),
        fixed=words_of(document, "fixed", place),
        sweep=sweep_of(document, place),
        run=words_of(document, "run", place),
        exclude=texts_of(document, "exclude", place),
        published=published_of(document, place),
        claims=claims_of(document, place),
        table=layout_of(document, place),
        pictures=pictures_of(document, place),
    )
    words_once_check(scenario, place)
    return scenario


def scenario_load(path: Path) -> Scenario:
    """Reads one scenario file.

    UsageError names the file and the line (broken TOML) or the key (unknown, missing, wrong type).
    """
    text = ""
    try:
        text = path.read_bytes().decode()
        document = tomllib.loads(text)
    except (FileNotFoundError, IsADirectoryError):
        what = "is a folder, not the file of a scenario" if path.is_dir() else "no such scenario file"
        raise UsageError(
            f"{path}: {what} (uncork list shows the names of those that ship)") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text at byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        last = f"at line {len(text.splitlines())}, the last"
        wrong = str(error).replace("at end of document", last)
        raise UsageError(f"{path}: broken TOML: {wrong}") from None
    return scenario_parse(document, path)


def toml_value(value: str | float | tuple[str, ...]) -> str:
    """One TOML value. A JSON string is a TOML basic string, but for DEL, which both escape."""
    if isinstance(value, tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def toml_table(header: str, entries: dict[str, Any]) -> list[str]:
    """The lines of one table; keys with a dot are quoted, what is None or empty is left out."""
    lines = ["", header] if header else []
    for key, value in entries.items():
        if value is not None and value != "":
            name = key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)
            lines.append(f"{name} = {toml_value(value)}")
    return lines


def scenario_text(scenario: Scenario) -> str:
    """The scenario as TOML: scenario_load gives the same scenario again."""
    lines = toml_table("", {
        "name": scenario.name, "question": scenario.question, "source": scenario.source,
        "exclude": scenario.exclude or None,
    })
    lines += toml_table("[fixed]", scenario.fixed) if scenario.fixed else []
    lines += toml_table("[sweep]", scenario.sweep) if scenario.sweep else []
    lines += toml_table("[run]", scenario.run) if scenario.run else []
    for figure in scenario.published:
        lines += toml_table("[[published]]", {
            "words": figure.words, "metric": figure.metric,
            "value": figure.value, "from": figure.source, "set": figure.set,
            "label": figure.label if figure.label != LABEL else None,
        })
    for claim in scenario.claims:
        lines += toml_table("[[claim]]", {"says": claim.says, "that": claim.that})
    if scenario.table is not None:
        lines += toml_table("[table]", {
            "rows": scenario.table.rows, "columns": scenario.table.columns,
            "gain": scenario.table.gain, "best": scenario.table.best,
        })
    for picture in scenario.pictures:
        lines += toml_table("[[picture]]", {
            "kind": picture.kind, "metric": picture.metric, "of": picture.of, "x": picture.x,
            "name": picture.name,
        })
    return "\n".join(lines) + "\n"
