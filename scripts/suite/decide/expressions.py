# SPDX-License-Identifier: MIT
"""The expressions of claims: metrics of named cells with + - * / and one comparison. They are
parsed here, and never eval'd. Also the cells that they name, in a plan before it runs or in a
result.

    claim   = sum ( ">=" | "<=" | ">" | "<" | "==" ) sum
            | sum "~" number [ "within" number ]
    sum     = product { ( "+" | "-" ) product }
    product = factor { ( "*" | "/" ) factor }
    factor  = "-" factor | number [ unit ] | "(" sum ")" | metric [ "(" words ")" ]

A unit is one of base/units.py. Figures in two units are neither added nor compared.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from suite.base.errors import UsageError
from suite.base.runner_words import BUILD, TARGET
from suite.base.units import UNIT_PREFIXES, Quantity, counted_text, quantity_parse, units_text
from suite.base.words import words_split, words_text
from suite.observe.metrics import METRICS, metric_find
from suite.result.plan import Plan
from suite.scenario.scenario import Claim, Scenario

PLACE = "place"
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, ">": operator.gt, "<": operator.lt,
}
ABOUT, WITHIN = "~", 1.5  # a ratio is within a factor (by default WITHIN) of a number
OPERATORS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}
WordsByCell = Mapping[str, Mapping[str, str]]  # all words of each cell, by its name
BEST_OF = "best"
UNKNOWN = "?"  # the unit of a product or quotient of figures in two units
TOKEN = re.compile(r"""\s*(?:
    (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    (?:\s*(?P<unit>(?!within\b)[A-Za-zµμ]+(?:/s)?|(?<=\s)1/s))?
  | (?P<sign>within\b|>=|<=|==|[-+*/()<>~])
  | (?P<metric>[a-z][a-z0-9_]*)(?:\((?P<words>[^()]*)\))?
  | \Z
  )""", re.VERBOSE)


@dataclass(frozen=True)
class Reference:
    """A metric of the cell that words select, or of the best of several."""

    metric: str
    words: str

    @property
    def searched(self) -> tuple[str, ...]:
        """The keys of the words whose best value is asked for, as `write=best`."""
        return tuple(word.partition("=")[0] for word in self.words.split()
                     if word.endswith(f"={BEST_OF}"))

    @property
    def text(self) -> str:
        return f"{self.metric}({self.words})" if self.words else self.metric

    @property
    def wanted(self) -> dict[str, str]:
        """Its words by key; UsageError if one is given twice."""
        return words_split(self.words.split(), f"{self.text}: ")


@dataclass(frozen=True)
class Operation:
    """Two expressions and the sign between them. The sign of a whole claim is one of COMPARISONS or
    ABOUT. within: the factor of ABOUT; 0 if the claim has none."""

    sign: str
    left: Expression
    right: Expression
    within: float = 0

    @property
    def limit(self) -> float | None:
        """The right side of a claim, if it names no metric."""
        return None if any(references_of(self.right)) else float(evaluate(self.right, {}))


Expression = float | Reference | Operation


class Undecidable(Exception):
    """Says why a claim cannot be decided. how: absent or unable, as in Decision."""

    def __init__(self, why: str, **how: Any) -> None:
        super().__init__(why)
        self.how = how


class ClaimParser:
    """Recursive descent over the tokens of one claim. at: the end of what is consumed; token: the
    next one, empty at the end. where: as in claim_parse()."""

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where
        self.at = 0
        self.token = self.next_token()

    def wrong(self, what: str) -> UsageError:
        return UsageError(f'claim "{self.text}": {what} at character {self.at + 1}')

    def next_token(self) -> re.Match[str]:
        token = TOKEN.match(self.text, self.at)
        if token is None:
            raise self.wrong("no number, metric or sign")
        if not token[0].strip():
            self.at = len(self.text)
        return token

    def advance(self) -> re.Match[str]:
        """Consumes the token."""
        token = self.token
        self.at = token.end()
        self.token = self.next_token()
        return token

    def accept(self, *signs: str) -> str:
        """The token, consumed, if it is one of these signs; else empty."""
        return self.advance()["sign"] if self.token["sign"] in signs else ""

    def claim(self) -> Operation:
        left, sign, within = self.sum(), self.accept(*COMPARISONS, ABOUT), 0.0
        if not sign:
            raise self.wrong("one comparison (>= <= > < == ~) is needed")
        right = self.number(above=0) if sign == ABOUT else self.sum()
        if sign == ABOUT and self.accept("within"):
            within = self.number(above=1)
            if isinstance(within, Quantity):
                raise self.wrong("a factor has no unit")
        if self.token["sign"] in (*COMPARISONS, ABOUT):
            raise self.wrong("a second comparison")
        if rest := self.token[0].strip():
            raise self.wrong(f'"{rest}" is not expected')
        return Operation(sign, left, right, within)

    def sum(self, signs: Sequence[str] = ("+-", "*/")) -> Expression:
        """Products joined by + and -. signs: without the first, factors joined by * and /."""
        if not signs:
            return self.factor()
        value = self.sum(signs[1:])
        while sign := self.accept(*signs[0]):
            value = Operation(sign, value, self.sum(signs[1:]))
        return value

    def factor(self) -> Expression:
        """A number, a metric, something in parentheses, or the negative of one."""
        if self.accept("-"):
            return Operation("-", 0.0, self.factor())
        if self.accept("("):
            value = self.sum()
            if not self.accept(")"):
                raise self.wrong('")" is missing')
            return value
        if self.token["number"]:
            return self.number()
        if self.token["metric"]:
            return self.reference()
        text = self.token[0].strip()
        raise self.wrong(f'"{text}" is not expected' if text else "it ends too early")

    def number(self, above: float = -1) -> float:
        """A number above this one, in its base unit if it has a unit."""
        if not self.token["number"] or float(self.token["number"]) <= above:
            raise self.wrong(f"a number above {above} is needed")
        number, unit = self.advance().group("number", "unit")
        if not unit:
            return float(number)
        if (quantity := quantity_parse(number, unit)) is None:
            known = "; ".join(filter(None, map(units_text, UNIT_PREFIXES)))
            raise self.wrong(f'"{unit}" is no unit: {known}')
        return quantity

    def reference(self) -> Reference:
        metric, words = self.advance().group("metric", "words")
        metric_find(metric, f'claim "{self.text}"')
        if self.token["sign"] == "(":
            raise self.wrong('")" is missing after the words')
        return Reference(metric, " ".join([*(words or "").split(), *self.where.split()]))


def claim_parse(text: str, where: str = "") -> Operation:
    """The claim as a tree; UsageError says what is wrong. where: more words of each cell."""
    claim = ClaimParser(text, where).claim()
    try:
        _ = unit_of(claim), claim.limit
    except (Undecidable, UsageError) as error:
        raise UsageError(f'claim "{text}": {error}') from None
    searched = [name for name in references_of(claim) if name.searched]
    if searched and (searched != [best_of(claim)] or claim.sign == "=="):
        raise UsageError(f'claim "{text}": the best stands alone on the right of >= <= > <, '
                         "or a number times it")
    return claim


def best_of(claim: Operation) -> Reference | None:
    """The reference to the best of several cells, if the right side is (a number times) one."""
    right = claim.right
    if isinstance(right, Operation) and right.sign == "*" and isinstance(right.left, float):
        right = right.right
    return right if isinstance(right, Reference) and right.searched else None


def references_of(expression: Expression) -> Iterator[Reference]:
    """Every reference in an expression, from left to right."""
    if isinstance(expression, Reference):
        yield expression
    elif isinstance(expression, Operation):
        yield from references_of(expression.left)
        yield from references_of(expression.right)


def unit_of(expression: Expression) -> str:
    """The base unit of an expression; UsageError if it adds or compares figures in two units.
    Empty: a number without a unit, which stands beside any."""
    if isinstance(expression, Reference):
        return METRICS[expression.metric].unit
    if not isinstance(expression, Operation):
        return expression.base if isinstance(expression, Quantity) else ""
    left, right = unit_of(expression.left), unit_of(expression.right)
    if expression.sign == "/":
        return left if right in ("", "1") else "1" if left == right else UNKNOWN
    if expression.sign == "*":
        return left if right in ("", "1") else right if left in ("", "1") else UNKNOWN
    if left != right and not {left, right} & {"", UNKNOWN}:
        first, second = (f"in {units_text(unit)}" if unit != "1" else "without a unit"
                         for unit in (left, right))
        raise UsageError(f"a figure {first} stands beside one {second}")
    return left or right


def evaluate(expression: Expression, values: Mapping[Reference, Any]) -> Any:
    """The value of an expression in each round, or a float if it names no metric; Undecidable
    for a division by 0. values: arrays by round, all of the same rounds."""
    if isinstance(expression, Operation):
        left, right = evaluate(expression.left, values), evaluate(expression.right, values)
        if expression.sign == "/" and 0 in getattr(right, "flat", (right,)):
            raise Undecidable("a division by 0")
        return OPERATORS[expression.sign](left, right)
    return values[expression] if isinstance(expression, Reference) else expression


def claims_references(scenario: Scenario) -> Iterator[Reference]:
    for claim in scenario.claims:
        yield from references_of(claim_parse(claim.that))


def selectors_of(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """(words, where they stand) of claims, answers and published figures."""
    return chain(
        ((question.where, f'[answer] where "{question.where}": ')
         for question in scenario.answers if question.where),
        ((figure.words, f'[published] words "{figure.words}": ') for figure in scenario.published),
        ((" ".join(word for word in reference.words.split() if not word.endswith(f"={BEST_OF}")),
          f'[claim] that "{reference.text}": ') for reference in claims_references(scenario)))


def axes_of(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """(axis, where it stands) of the table, pictures, answers and claims."""
    best = scenario.table.best
    return chain(
        ((row, "[table] rows") for row in scenario.table.rows),
        [(best, "[table] best")] if best else [],
        ((question.word, "[answer] word") for question in scenario.answers),
        ((picture.x, "[picture] x") for picture in scenario.pictures if picture.x),
        ((key, f'[claim] that "{reference.text}"') for reference in claims_references(scenario)
         for key in reference.searched))


class NoCell(Undecidable):
    """Says why a reference names no cell. axis: one that the reference should name and does not.
    unknown: a word that no cell has."""

    def __init__(self, why: str, axis: str = "", unknown: str = "") -> None:
        super().__init__(why, absent=not axis)
        self.axis = axis
        self.unknown = unknown


def no_cell_reason(selector: Mapping[str, str], cells: WordsByCell, excludes: Iterable[str]) -> str:
    """Why no cell has all of these words, if each key is a word of some cell. excludes: the rules
    of the scenario that leave cells out."""
    for key, value in selector.items():
        values = dict.fromkeys(words[key] for words in cells.values() if key in words)
        if value not in values:
            return f"{key}={value} was not run, only {key}={','.join(values)}"
    rule = next((text for text in excludes
                 if words_split(text.split(), "exclude: ").items() <= selector.items()), "")
    return f'exclude = "{rule}" leaves them out' if rule else (
        f"no cell has {words_text(selector)} together")


def cells_named(reference: Reference, cells: WordsByCell, axes: Sequence[str],
                excludes: Iterable[str] = ()) -> list[str]:
    """The cell of a reference, or all cells whose best it names; NoCell says why there are none.
    excludes: as no_cell_reason()."""
    wanted = reference.wanted
    for key in wanted:
        if not any(key in words for words in cells.values()):
            raise NoCell(f"{reference.text}: no cell has the word {key}", unknown=key)
    selector = {key: value for key, value in wanted.items() if key not in reference.searched}
    found = [name for name, words in cells.items() if selector.items() <= words.items()]
    for axis in axes:
        values = list(dict.fromkeys(cells[name].get(axis, "") for name in found))
        if axis not in wanted and len(values) > 1:
            raise NoCell(f"{reference.text}: {axis} varies and is not named; it is one of "
                         f"{', '.join(value or 'none' for value in values)}", axis)
    if not found:
        raise NoCell(no_cell_reason(selector, cells, excludes))
    return found if reference.searched else found[:1]


def claim_places(claim: Claim, cells: WordsByCell, axes: Sequence[str]) -> tuple[str, ...]:
    """The words for which a claim is decided one by one: each target and build, and each place if
    it is a published claim. One empty text if the claim names them, or they do not vary."""
    named = {key for name in references_of(claim_parse(claim.that)) for key in name.wanted}
    keys = [key for key in (TARGET, BUILD, *((PLACE,) if claim.kind else ()))
            if key in axes and key not in named]
    return tuple(dict.fromkeys(words_text({key: words[key] for key in keys if key in words})
                               for words in cells.values()))


def claims_check(scenario: Scenario, path: Path, plan: Plan, overridden: bool) -> list[str]:
    """A note for each axis from the command line that leaves claims undecided. UsageError for a
    claim that the scenario itself leaves undecided: it does not name a swept word, or it names a
    word that no cell has. overridden: whether words of the command line change cells."""
    cells = {cell.name: cell.all_words for cell in plan.cells}
    explanations = [claim.explanation for claim in scenario.claims if claim.explanation]
    references = [(claim, reference) for claim in (*scenario.claims, *explanations)
                  for where in claim_places(claim, cells, plan.axes)
                  for reference in references_of(claim_parse(claim.that, where))]
    unnamed: dict[str, set[Claim]] = {}
    for claim, reference in references:
        try:
            cells_named(reference, cells, plan.axes)
        except NoCell as error:
            wrong = (error.unknown or claim.kind) and not overridden
            if wrong or error.axis in scenario.sweep:
                raise UsageError(f'{path}: [claim] that "{claim.that}": {error}') from None
            if error.axis:
                unnamed.setdefault(error.axis, set()).add(claim)
    return [f"{axis} varies: {counted_text(len(claims), 'claim')} of the scenario cannot be "
            "decided without it" for axis, claims in unnamed.items()]
