# SPDX-License-Identifier: MIT
"""A row of common/words/words.def compiles only if its kind fits the field of the plan."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORDS = ROOT / "common/words/words.def"
COMPILER = shutil.which(os.environ.get("CC", "cc"))


def complaint(folder: Path, field: str, other: str) -> str:
    """What the compiler says about the list of words with another field in one row."""
    rows = WORDS.read_text()
    assert rows.count(f" {field},") == 1
    (folder / "words").mkdir()
    (folder / "words/words.def").write_text(rows.replace(f" {field},", f" {other},"))
    assert COMPILER
    done = subprocess.run(
        [COMPILER, "-std=gnu11", "-fsyntax-only", "-Werror=incompatible-pointer-types",
         "-D_GNU_SOURCE", "-I", str(folder), "-I", str(ROOT / "common"),
         str(ROOT / "common/words/word.c")], capture_output=True, text=True, check=False)
    assert bool(done.returncode) == bool(done.stderr), done.stderr
    return done.stderr


@pytest.mark.skipif(not COMPILER, reason="there is no C compiler")
@pytest.mark.parametrize(("field", "other"), [
    ("&plan->connections", "&plan->verify"),     # a number is no flag
    ("&plan->verify", "&plan->arrival"),         # nor is an enum
    ("&own->touch", "&own->chunk_bytes"),        # a choice is no number
    ("&plan->transport", "&plan->workload"),     # a variant of another axis
    ("&plan->peer", "&plan->target"),            # a text of another length
    ("&plan->write", "&plan->message"),
])
def test_a_field_of_another_kind_does_not_compile(tmp_path, field, other):
    assert "incompatible" in complaint(tmp_path, field, other)


@pytest.mark.skipif(not COMPILER, reason="there is no C compiler")
def test_the_list_compiles(tmp_path):
    assert complaint(tmp_path, "&plan->peer", "&plan->peer") == ""
