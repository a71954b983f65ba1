# SPDX-License-Identifier: MIT
"""Counts a JUnit file of ctest or pytest: lines `passed N`, `failed N`, `skipped 1 REASON`."""

import sys
import xml.etree.ElementTree as ElementTree


def skip_reason(case: ElementTree.Element, skipped: ElementTree.Element) -> str:
    """Why a case was skipped, in one line. ctest knows no reason: its test has printed one."""
    printed = (case.findtext("system-out") or "").strip().splitlines()
    why = skipped.get("message") or ""
    if printed and (not why or "SKIP_" in why):
        why = next((line for line in reversed(printed) if "skip" in line.lower()), printed[-1])
    return " ".join(f"{case.get('name')}: {why or 'no reason given'}".split())


def outcome(case: ElementTree.Element) -> str:
    """passed, failed, or skipped with the reason. A case that did not run is a failure."""
    skipped = case.find("skipped")
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if skipped is not None:
        return f"skipped 1 {skip_reason(case, skipped)}"
    return "passed" if case.get("status", "run") == "run" else "failed"


if __name__ == "__main__":
    try:
        outcomes = list(map(outcome, ElementTree.parse(sys.argv[1]).iter("testcase")))
    except (OSError, ElementTree.ParseError) as error:  # ctest or pytest was killed
        sys.exit(f"uncork: {sys.argv[1]}: {error}")
    print(*(f"{kind} {outcomes.count(kind)}" for kind in ("passed", "failed")),
          *(one for one in outcomes if one.startswith("skipped")), sep="\n")
