# SPDX-License-Identifier: MIT
"""Figures as text: one unit for a column, three significant digits, ASCII only.

Values are in base units: s, bit/s, 1/s, B or 1.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

UNIT_PREFIXES = {
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")),
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "1/s": ((1e6, "M/s"), (1e3, "k/s"), (1.0, "1/s")),
    "B": ((1024.0**2, "MiB"), (1024.0, "KiB"), (1.0, "B")),
    "1": ((1.0, ""),),
}
SECONDS = {name: factor for factor, name in UNIT_PREFIXES["s"]}
UNITS = {name.casefold(): (factor, base) for base, prefixes in UNIT_PREFIXES.items()
         for factor, name in prefixes if name}
FACTOR = 3.0  # a larger change is printed as a factor, not in percent
SIZE_FACTORS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


class Beyond(float):
    """A censored value: the true value is only known to lie beyond this bound."""


class Quantity(float):
    """A number in the base unit `base`."""

    base: str


def quantity_parse(number: str, unit: str) -> Quantity | None:
    """A number and a unit (`35`, `ms`), in upper or lower case, or with `µ`; None for another
    unit."""
    found = UNITS.get(unit.casefold().replace("\N{GREEK SMALL LETTER MU}", "u"))
    if found is None:
        return None
    quantity = Quantity(float(number) * found[0])
    quantity.base = found[1]
    return quantity


def units_text(base: str) -> str:
    """The units of a base unit: `s, ms, us, ns`."""
    return ", ".join(name for _, name in UNIT_PREFIXES[base])


class Scale(NamedTuple):
    """A value in the base unit, divided by `factor`, is the value in `unit`."""

    factor: float
    unit: str

    def apply(self, value: float) -> float:
        return value / self.factor


def scale_choose(values: Iterable[float], unit: str) -> Scale:
    """The largest prefix in which at least half of the values, zeros left out, are 1 or more."""
    sizes = sorted(abs(value) for value in values if value and math.isfinite(value))
    middle = sizes[len(sizes) // 2] if sizes else 1.0
    scales = [Scale(*prefix) for prefix in UNIT_PREFIXES[unit]]
    return next((one for one in scales if middle >= one.factor * (1 - 1e-9)), scales[-1])


def number_text(value: float, digits: int = 3) -> str:
    """Three significant digits without an exponent: 8.93, 43100, 0.00213."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{max(decimals, 0)}f}"


def count_text(value: float) -> str:
    """A count: 15.00; from 1000 on without decimals; below 0.1 with three significant digits."""
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.2f}" if value == 0 or abs(value) >= 0.1 else number_text(value)


def beyond_text(value: float, text: str) -> str:
    """The text of a value; `> 200` if the value is censored."""
    return f"> {text}" if isinstance(value, Beyond) else text


def value_text(value: float, unit: str) -> str:
    """One value with its unit: `8.93 us`, `> 200 ms`; counts have two decimals and no unit."""
    if unit == "1":
        return count_text(value)
    scale = scale_choose([value], unit)
    return beyond_text(value, f"{number_text(scale.apply(value))} {scale.unit}")


def percent_text(fraction: float) -> str:
    """A fraction as a percentage: 0.8%, 12%, >999%."""
    percent = 100 * fraction
    if percent >= 999.5:
        return ">999%"
    return f"{percent:.1f}%" if abs(percent) < 9.95 else f"{percent:.0f}%"


def share_text(share: float) -> str:
    """A share above 0 and up to 1 as a percentage, which is never 0.0%, and 100% only if all."""
    return "<0.1%" if share < 0.001 else ">99.9%" if 0.9995 <= share < 1 else percent_text(share)


def noise_text(floor: float) -> str:
    """An A/A interval, given as a ratio: 5.3%; from 10 % on 1.96x, as up and down differ."""
    return percent_text(floor - 1) if floor < 1.0995 else ratio_text(floor)


def percent_signed(ratio: float) -> str:
    """A change with its sign: +2.4%, -0.6%, +142%, +0.02%; `>0%` or `<0%` if only the direction is
    known. A change of at least 0.0005 % is never printed as 0: a reader must see on which side of 0
    the end of an interval lies."""
    if math.isinf(ratio) or ratio == 0:
        return ">0%" if ratio else "<0%"
    percent = 100 * (ratio - 1)
    size = abs(percent)
    if size < 0.0005:
        return "+0.0%"
    decimals = 0 if size >= 99.95 else 1 if size >= 0.05 else 2 if size >= 0.005 else 3
    return f"{percent:+.{decimals}f}%"


def is_factor(*ratios: float) -> bool:
    """Whether one of these changes is beyond a factor of 3; then all are printed as factors."""
    return any(not 1 / FACTOR <= one <= FACTOR for one in ratios if 0 < one < math.inf)


def size_of_change(ratio: float) -> str:
    """The size of a change without its direction (ratio: 1 or more): 5.3%; beyond 3x as 8.22x."""
    return ratio_text(ratio) if is_factor(ratio) else percent_text(ratio - 1)


def change_texts(ratio: float, *ends: float, factors: bool = False) -> list[str]:
    """A change and the ends of its interval: all in percent (+2.4%) or all as factors (0.242x).
    factors: another change of the same column is beyond a factor of 3."""
    if factors or is_factor(ratio, *ends):
        return ratio_texts(
            ratio, *ends, text=lambda factor, more: f"{number_text(factor, 3 + more)}x")
    return list(map(percent_signed, (ratio, *ends)))


def ratio_text(ratio: float, more: int = 0, unit: str = "x") -> str:
    """A ratio: 0.42x, 17.3x; `>1x` or `<1x` if only the direction is known (infinite or 0)."""
    if math.isinf(ratio) or ratio == 0:
        return f"{'>' if ratio else '<'}1{unit}"
    if 0.095 <= ratio < 9.995:
        return f"{ratio:.{2 + more}f}{unit}"
    return f"{number_text(ratio, 3 if ratio > 1 else 2)}{unit}"


def ratio_texts(ratio: float, *ends: float,
                text: Callable[[float, int], str] = ratio_text) -> list[str]:
    """A ratio and the ends of its interval, if any. If the interval excludes 1, its ends get up to
    two more digits, so that none is printed as 1."""
    within = not ends or ends[0] <= 1 <= ends[1]
    for more in range(3):
        texts = [text(one, more) for one in (ratio, *ends)]
        if within or text(1.0, more) not in texts[1:]:
            break
    return texts


def interval_text(texts: Sequence[str]) -> str:
    """`[1.21x, 1.34x]`; texts: of a figure and of the ends of its interval, if it has one."""
    return f"[{', '.join(texts[1:])}]" if texts[1:] else ""


def size_text(size: float) -> str:
    """A whole number: 64, 4K, 1M."""
    for suffix in ("G", "M", "K"):
        if size and size % SIZE_FACTORS[suffix] == 0:
            return f"{size // SIZE_FACTORS[suffix]:.0f}{suffix}"
    return f"{size:g}"


def size_parse(text: str) -> float | None:
    """The number of a text such as 64, 4K, 1.5M; None if it is not such a number above 0."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?)", text)
    if match is None:
        return None
    return float(match[1]) * SIZE_FACTORS[match[2]] or None


def counted_text(count: int, one: str) -> str:
    """`1 round`, `2 rounds`."""
    return f"{count} {one}{'s' if count != 1 else ''}"
