# SPDX-License-Identifier: MIT
"""Scenarios, questions as data: scenarios/*.toml, read, checked and written again; subjects.

It imports base. It never asks the client what a word means, and never reads a result.
"""
