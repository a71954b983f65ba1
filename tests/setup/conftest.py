# SPDX-License-Identifier: MIT
"""Every test here may have a sandbox."""

from sandbox import sandbox

__all__ = ["sandbox"]
