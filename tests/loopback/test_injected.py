# SPDX-License-Identifier: MIT
"""A sample of the calls that injected.py lets fail: the step `injection` has all."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from injected import Case, Matrix, cases_ready
from programs import SANITIZED

CASES = ["server-start", "server-block", "server-connect", "server-psk", "proxy-start",
         "proxy-block", "client-block", "client-connect", "client-own", "client-facts"]
SAMPLE = 20  # failures of each case


@pytest.fixture(scope="module")
def cases() -> Iterator[dict[str, Callable[[], Case]]]:
    if SANITIZED:
        pytest.skip("a sanitizer has the memory, and the library could not fail it")
    with cases_ready() as made:
        yield made


@pytest.mark.parametrize("name", CASES)
def test_calls_that_fail_break_no_program(name: str, cases: dict[str, Callable[[], Case]]) -> None:
    matrix = Matrix()
    matrix.run(cases[name], SAMPLE)
    assert matrix.calls[name.partition("-")[0]].total() >= SAMPLE - 2
    assert not matrix.faults
