# SPDX-License-Identifier: MIT
"""records.jsonl on its way to columns: lines, the shape of a record, its traits, a row for each, and the file
that keeps the columns for next time."""
