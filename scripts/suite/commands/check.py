# SPDX-License-Identifier: MIT
"""`uncork check RESULTS [WORD...]`."""

import argparse

from suite.base.errors import UsageError
from suite.base.text import say
from suite.base.words import arguments_sort, words_text
from suite.decide.claims import claims_decide, claims_status
from suite.observe.frame import matrix_load
from suite.observe.selection import left_out_text, matrix_narrow
from suite.present.claims import tap_text


def main(options: argparse.Namespace) -> int:
    asked = arguments_sort(options.results, options.words)
    matrix = matrix_narrow(matrix_load(options.results), asked.words)
    verdicts = claims_decide(matrix)
    if matrix.result.scenario.claims and not verdicts:
        raise UsageError(
            f'no claim of {matrix.result.name} is only about "{words_text(asked.words)}"')
    say(left_out_text(matrix, asked.words))
    print(tap_text(verdicts), end="")
    return claims_status(verdicts)
