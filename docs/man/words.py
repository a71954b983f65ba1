# SPDX-License-Identifier: MIT
"""Fills the words of uncork-client(1) in from `uncork-client --list=json`: words.py CLIENT TEMPLATE
OUTPUT."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

TITLES = {"strategy": "Write strategies", "reading": "Values of read"}


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


def variant_item(variant: dict) -> list[str]:
    lines = [f".It Cm {escape(variant['name'])}", f"{escape(variant['help'])}."]
    if variant.get("parameter"):
        lines.append(f"{escape(variant['name'])}:SIZE {escape(variant['parameter'])}.")
    return lines


def words_section(listed: dict) -> str:
    lines = [".Bl -tag -width Ds"]
    for word in listed["words"]:
        lines += word_item(word) if word["scope"] == "cell" else []
    for axis, variants in listed["variants"].items():
        lines += [".El", f".Ss {TITLES.get(axis, f'Values of {axis}')}", ".Bl -tag -width Ds"]
        for variant in variants:
            lines += variant_item(variant)
    return "\n".join([*lines, ".El"])


def main(client: str, template: str, output: str) -> None:
    listed = json.loads(subprocess.run([client, "--list=json"], capture_output=True,
                                       check=True).stdout)
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    Path(output).write_text(Path(template).read_text().replace("@WORDS@", words_section(listed)))


if __name__ == "__main__":
    main(*sys.argv[1:])
