# SPDX-License-Identifier: MIT
"""Counts a JUnit file of ctest or pytest: lines `passed N`, `failed N`, `skipped 1 REASON`."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree


def skip_reason(case: ElementTree.Element, skipped: ElementTree.Element) -> str:
    """Why a case was skipped, in one line: ctest knows only a status, its test has printed why."""
    said = (case.findtext("system-out") or "").strip().splitlines()
    why = skipped.get("message") or ""
    if said and (not why or "SKIP_" in why):
        why = next((line for line in reversed(said) if "skip" in line.lower()), said[-1])
    return " ".join(f"{case.get('name')}: {why or 'no reason given'}".split())


def cases_count(root: ElementTree.Element) -> list[str]:
    """The lines to print for all cases below root. A case that did not run is a failure."""
    passed = failed = 0
    skips: list[str] = []
    for case in root.iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif skipped is not None:
            skips.append(f"skipped 1 {skip_reason(case, skipped)}")
        elif case.get("status", "run") == "run":
            passed += 1
        else:
            failed += 1
    return [f"passed {passed}", f"failed {failed}", *skips]


def main(arguments: list[str]) -> int:
    """Exit status 0; 1 where there is no readable file: the runner of the tests has died."""
    try:
        root = ElementTree.parse(arguments[0]).getroot()
    except (OSError, ElementTree.ParseError) as error:
        print(f"uncork: {arguments[0]}: {error}", file=sys.stderr)
        return 1
    print(*cases_count(root), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
