# SPDX-License-Identifier: MIT
"""."""
