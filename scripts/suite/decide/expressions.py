# SPDX-License-Identifier: MIT
"""The expressions of claims: metrics of named cells with + - * / and one comparison. They are
parsed, and never eval'd. Also the cells that they name, in a plan before it runs or in a
result.

    claim   = sum ( ">=" | "<=" | ">" | "<" | "==" ) sum
            | sum "~" number [ "within" number ]
    sum     = product { ( "+" | "-" ) product }
    product = factor { ( "*" | "/" ) factor }
    factor  = "-" factor | number [ unit ] | "(" sum ")" | metric [ "(" words ")" ]

A unit is one of base/units.py. Figures in two units are neither added nor compared.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.base import grouped
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
CHARACTERS_MOST = 500  # of a claim: Python limits how deeply expressions may be nested
OPERATORS: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}
WordsByCell = Mapping[str, Mapping[str, str]]  # all words of each cell, by its name
BEST_OF = "best"
UNKNOWN = "?"  # the unit of a product or quotient of figures in two units
FIGURE = re.compile(r"""
    (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    (?:\s*(?P<unit>(?!within\b)[A-Za-zµμ]+(?:/s)?|(?<=\s)1/s))?
  | \b(?!within\b)(?P<metric>[a-z][a-z0-9_]*)(?:\((?P<words>[^()]*)\))?
  """, re.VERBOSE)
PYTHON_SIGNS: Mapping[type[ast.AST], str] = {
    ast.GtE: ">=", ast.LtE: "<=", ast.Eq: "==", ast.Gt: ">", ast.Lt: "<",
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/",
}
COMPARISON = "one comparison (>= <= > < == ~) is needed"
SIDE = "each side has metric(WORDS) and numbers, joined by + - * / and ( )"


@dataclass(frozen=True)
class Reference:
    """A metric of the cell that words select, or of the best of several (`write=best`)."""

    metric: str
    words: str

    @property
    def text(self) -> str:
        return f"{self.metric}({self.words})" if self.words else self.metric

    @property
    def wanted(self) -> dict[str, str]:
        """Its words by key; UsageError if one is given twice."""
        return words_split(self.words.split(), f"{self.text}: ")

    @property
    def selector(self) -> dict[str, str]:
        """Its words without those whose best value is asked for."""
        return {key: value for key, value in self.wanted.items() if value != BEST_OF}

    @property
    def searched(self) -> list[str]:
        """The keys of the words whose best value is asked for."""
        return [key for key, value in self.wanted.items() if value == BEST_OF]


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
    """Says why a claim cannot be decided. absent, unable: as in Decision. axis: one that a
    reference should name and does not. unknown: a word that no cell has."""

    def __init__(self, why: str, *, absent: bool = False, unable: bool = False, axis: str = "",
                 unknown: str = "") -> None:
        super().__init__(why)
        self.absent, self.unable, self.axis, self.unknown = absent, unable, axis, unknown


@dataclass(frozen=True)
class ClaimText:
    """A claim as typed. Python's grammar reads it, with `x`, `^` and `|` in place of a figure, `~`
    and `within`: they bind as the grammar above says. where: as in claim_parse()."""

    text: str
    where: str

    def wrong(self, what: str, at: int) -> UsageError:
        return UsageError(f'claim "{self.text}", character {at + 1}: {what}')

    def claim(self) -> Operation:
        if len(self.text) > CHARACTERS_MOST:
            raise self.wrong(f"a claim has at most {CHARACTERS_MOST} characters", CHARACTERS_MOST)
        masked = FIGURE.sub(lambda found: "x".ljust(len(found[0])), self.text)
        if other := re.search(r"[^-+*/()<>=~x\s]", masked.replace("within", " " * 6)):
            raise self.wrong(SIDE, other.start())
        masked = re.sub(r"\s", " ", masked.replace(ABOUT, "^").replace("within", "|     "))
        try:
            tree = ast.parse(masked, mode="eval").body
        except SyntaxError as error:
            raise self.wrong(SIDE, (error.offset or len(masked) + 1) - 1) from None
        match tree:
            case ast.Compare(left, [sign], [right]) if type(sign) in PYTHON_SIGNS:
                return Operation(PYTHON_SIGNS[type(sign)], self.side(left), self.side(right))
            case ast.BinOp(left, ast.BitXor(), right):
                return Operation(ABOUT, self.side(left), self.number(right))
            case ast.BinOp(ast.BinOp(left, ast.BitXor(), right), ast.BitOr(), factor):
                return Operation(ABOUT, self.side(left), self.number(right), self.factor(factor))
            case ast.Compare(_, _, [first, *_]):
                raise self.wrong(COMPARISON, first.end_col_offset or 0)
        raise self.wrong(COMPARISON, tree.end_col_offset or 0)

    def side(self, node: ast.expr) -> Expression:
        """An expression, from its tree."""
        match node:
            case ast.Name():
                return self.figure(node.col_offset)
            case ast.UnaryOp(ast.USub(), operand):
                return Operation("-", 0.0, self.side(operand))
            case ast.BinOp(left, sign, right) if type(sign) in PYTHON_SIGNS:
                return Operation(PYTHON_SIGNS[type(sign)], self.side(left), self.side(right))
        raise self.wrong(SIDE, getattr(node, "right", node).col_offset)

    def number(self, node: ast.expr) -> float:
        if isinstance(value := self.side(node), float) and value > 0:
            return value
        raise self.wrong("a number above 0 is needed", node.col_offset)

    def factor(self, node: ast.expr) -> float:
        if (value := self.number(node)) > 1 and not isinstance(value, Quantity):
            return value
        raise self.wrong("a number above 1 without a unit is needed", node.col_offset)

    def figure(self, at: int) -> Expression:
        """The metric or the number that begins here, in its base unit if it has a unit."""
        if (found := FIGURE.match(self.text, at)) is None:
            raise self.wrong(SIDE, at)
        metric, words, number, unit = found.group("metric", "words", "number", "unit")
        if metric:
            metric_find(metric, f'claim "{self.text}"')
            return Reference(metric, " ".join([*(words or "").split(), *self.where.split()]))
        quantity = quantity_parse(number, unit) if unit else float(number)
        if quantity is None:
            known = "; ".join(filter(None, map(units_text, UNIT_PREFIXES)))
            raise self.wrong(f'"{unit}" is no unit: {known}', at)
        return quantity


def claim_parse(text: str, where: str = "") -> Operation:
    """The claim as a tree; UsageError says what is wrong. where: more words of each cell."""
    claim = ClaimText(text.strip(), where).claim()
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


def selectors_of(scenario: Scenario) -> list[tuple[str, str]]:
    """(words, where they stand) of claims, answers and published figures."""
    return [*((question.where, f'[answer] where "{question.where}": ')
              for question in scenario.answers if question.where),
            *((figure.words, f'[published] words "{figure.words}": ')
              for figure in scenario.published),
            *((words_text(reference.selector), f'[claim] that "{reference.text}": ')
              for reference in claims_references(scenario))]


def axes_of(scenario: Scenario) -> list[tuple[str, str]]:
    """(axis, where it stands) of the table, pictures, answers and claims."""
    best = scenario.table.best
    return [*((row, "[table] rows") for row in scenario.table.rows),
            *([(best, "[table] best")] if best else []),
            *((question.word, "[answer] word") for question in scenario.answers),
            *((picture.x, "[picture] x") for picture in scenario.pictures if picture.x),
            *((key, f'[claim] that "{reference.text}"')
              for reference in claims_references(scenario) for key in reference.searched)]


def cells_named(reference: Reference, cells: WordsByCell, axes: Sequence[str],
                excludes: Iterable[str] = ()) -> list[str]:
    """The cell of a reference, or all cells whose best it names; Undecidable says why there are
    none. excludes: the rules of the scenario that leave cells out."""
    wanted, selector = reference.wanted, reference.selector
    known = grouped((key, value) for words in cells.values() for key, value in words.items())
    for key in wanted:
        if key not in known:
            raise Undecidable(f"{reference.text}: no cell has the word {key}", absent=True,
                              unknown=key)
    found = [name for name, words in cells.items() if selector.items() <= words.items()]
    for axis in axes:
        values = list(dict.fromkeys(cells[name].get(axis, "") for name in found))
        if axis not in wanted and len(values) > 1:
            raise Undecidable(
                f"{reference.text}: {axis} varies and is not named; it is one of "
                f"{', '.join(value or 'none' for value in values)}", axis=axis)
    if found:
        return found if reference.searched else found[:1]
    why = f"no cell has {words_text(selector)} together"
    for rule in excludes:
        if words_split(rule.split(), "exclude: ").items() <= selector.items():
            why = f'exclude = "{rule}" leaves them out'
    for key, value in selector.items():
        if value not in known[key]:
            why = f"{key}={value} was not run, only {key}={','.join(dict.fromkeys(known[key]))}"
    raise Undecidable(why, absent=True)


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
        except Undecidable as error:
            wrong = (error.unknown or claim.kind) and not overridden
            if wrong or error.axis in scenario.sweep:
                raise UsageError(f'{path}: [claim] that "{claim.that}": {error}') from None
            if error.axis:
                unnamed.setdefault(error.axis, set()).add(claim)
    return [f"{axis} varies: {counted_text(len(claims), 'claim')} of the scenario cannot be "
            "decided without it" for axis, claims in unnamed.items()]
