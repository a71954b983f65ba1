# SPDX-License-Identifier: MIT
"""uncork against bare loops and against other tools: `tests/bench/run`, docs/performance.md."""
