# SPDX-License-Identifier: MIT
"""target=local: this machine."""

from __future__ import annotations

from suite.places.target import Target


class Local(Target):
    """Nothing stands before the client."""
