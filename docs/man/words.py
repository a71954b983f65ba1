# SPDX-License-Identifier: MIT
"""Fills the words of uncork-client(1) in from `uncork-client --list=json`: words.py CLIENT TEMPLATE OUTPUT."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def escape(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")


def word_item(word: dict) -> list[str]:
    """One word as an item of a tagged list (mdoc)."""
    lines = [f".It Cm {escape(word['key'])}", f"{escape(word['help'])}."]
    if "choices" in word:
        lines.append(f"One of {escape(', '.join(word['choices']))}.")
    if word["default"] is not None:
        lines.append(f"Default {escape(word['default'])}.")
    if word["ends"]:
        lines.append("Takes client. or server. before it.")
    return lines


def strategy_item(strategy: dict) -> list[str]:
    lines = [f".It Cm {escape(strategy['name'])}", f"{escape(strategy['help'])}."]
    if strategy["parameter"]:
        lines.append(f"{escape(strategy['name'])}:SIZE {escape(strategy['parameter'])}.")
    return lines


def words_section(listed: dict) -> str:
    lines = [".Bl -tag -width Ds"]
    for word in listed["words"]:
        lines += word_item(word) if word["scope"] == "cell" else []
    lines += [".El", ".Ss Write strategies", ".Bl -tag -width Ds"]
    for strategy in listed["variants"]["strategy"]:
        lines += strategy_item(strategy)
    return "\n".join([*lines, ".El"])


def main(client: str, template: str, output: str) -> None:
    listed = json.loads(subprocess.run([client, "--list=json"], capture_output=True, check=True).stdout)
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    Path(output).write_text(Path(template).read_text().replace("@WORDS@", words_section(listed)))


if __name__ == "__main__":
    main(*sys.argv[1:])
