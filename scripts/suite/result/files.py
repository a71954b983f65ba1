# SPDX-License-Identifier: MIT
"""The JSON objects beside records.jsonl, checked: hosts.json, and plan.json, read here only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from suite.base.errors import Failure, UsageError
from suite.result.shape import SCHEMA, Check, Damaged, constant_refuse, misshapen, plan, shown


def object_parse(data: bytes, shape: Check) -> dict[str, Any]:
    """The JSON object in a file; Damaged if it is none or has another shape."""
    try:
        value = json.loads(data.decode(), parse_constant=constant_refuse)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Damaged("not a JSON object")
    schema = value.get("schema", SCHEMA)
    if type(schema) is int and schema > SCHEMA:
        raise UsageError(f"schema {shown(schema)} is of a newer uncork; "
                         f"this one understands schema {SCHEMA}")
    wrong = misshapen(shape, value)
    if wrong:
        raise Damaged(wrong)
    return value


def plan_read(path: Path) -> dict[str, Any] | None:
    """plan.json, None where there is none; UsageError for a newer schema, Failure for damage."""
    try:
        document = object_parse(path.read_bytes(), plan)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    except Damaged as damage:
        raise Failure(f"{path}: damaged: {damage}") from None
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    names = [cell["cell"] for cell in document["cells"]]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Failure(f"{path}: damaged: the cell {twice} is there twice")
    return document
