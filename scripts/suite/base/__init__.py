# SPDX-License-Identifier: MIT
"""What every room stands on: errors, units, child processes, the client and its vocabulary of
words.

It imports nothing of the suite. It never reads a result, and it never starts a program unless a
caller from another room names it.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]  # of the repository
